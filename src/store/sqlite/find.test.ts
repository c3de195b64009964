import { expect, test } from 'vitest'
import { matchOf } from './find.ts'

test('PAR-14: words become quoted terms joined by OR, the last one a prefix', () => {
  expect(matchOf([])).toBeNull()
  expect(matchOf(['list', 'open'])).toBe('"list" OR "open"*')
  expect(matchOf(['a"b', 'NEAR(', '*', 'x\0y'])).toBe('"a""b" OR "NEAR(" OR "*" OR "x y"*')
})

test('PAR-14: the number of words and their length are bounded', () => {
  const match = matchOf(Array.from({ length: 10_000 }, () => 'x'.repeat(10_000))) ?? ''
  expect(match.split(' OR ')).toHaveLength(64)
  expect(match.length).toBeLessThan(64 * 140)
})
