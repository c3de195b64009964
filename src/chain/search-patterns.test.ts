import { assert, asyncProperty, boolean, nat } from 'fast-check'
import { expect, test } from 'vitest'
import { matcherOf, searchPatterns } from './search-patterns.ts'

const expression = (source: string): { source: string; isExpression: boolean } => ({
  source,
  isExpression: true,
})
const search = (source: string, text: string, isExpression = true): ReturnType<typeof searchPatterns> =>
  searchPatterns(
    {
      type: 'pattern_check',
      tool: 'r',
      isBlocking: true,
      patterns: [{ source, isExpression, name: source }],
    },
    [{ path: 'main.sh', text }],
  )

test('C8: a finding says file, line and pattern', async () => {
  expect(await search('b.*d', 'a\nb\nxb c d\n')).toEqual([
    {
      rule: 'pattern_check',
      tool: 'r',
      path: 'main.sh',
      line: 3,
      reason: 'holds the dangerous pattern "b.*d"',
    },
  ])
  expect(await search('b.*d', 'bd', false)).toEqual([])
  expect(await search('^c$', 'ab\nc\nd')).toMatchObject([{ line: 2 }])
})

test('PAR-07: an expression that others take for ever over is decided in linear time', async () => {
  const find = await matcherOf(expression('^(a+)+$'), 'r')
  // A backtracking engine would need 2^100000 steps: this test ends or it does not.
  expect(await find(`${'a'.repeat(100_000)}!`)).toBeNull()
})

test('a text that would take too long counts as found rather than as searched', async () => {
  const found = await search('(?:a|b|cd?e?){60}Z', 'ab'.repeat(6_000_000))
  expect(found).toMatchObject([{ line: null, reason: expect.stringContaining('too large to be searched') }])
})

test('one that is no expression, or too large a one, is refused by name', async () => {
  await expect(matcherOf(expression('a(.*'), 'r')).rejects.toMatchObject({ code: 'INVALID_MANIFEST' })
  await expect(matcherOf(expression('(?:a{1000}){10}.*'), 'r')).rejects.toThrow('of "r"')
})

test('what is searched in parts is found as if it were searched whole', async () => {
  const find = await matcherOf(expression('NE+DLE$'), 'r')
  await assert(
    asyncProperty(nat(400_000), nat(400_000), boolean(), async (before, after, isOneLine) => {
      const filler = isOneLine ? 'x' : 'x\n'
      const text = `${filler.repeat(before)}NEEDLE\n${filler.repeat(after)}`
      expect(await find(text)).toBe(filler.length * before)
    }),
    { numRuns: 20 },
  )
})
