import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fuse } from './fuse.ts'
import { likenessOf, useRankings } from './use-rankings.ts'

const NONE = new Map<string, number>()
const NOW = 1_760_000_000_000
const use = (row: number, words: readonly string[], times: number, last = NOW) => ({
  row,
  words,
  times,
  last,
})
const rankings = (words: readonly string[], uses: readonly ReturnType<typeof use>[]) =>
  useRankings(words, { uses, frequency: NONE }, NOW)

describe('S3: like searches', () => {
  test('share words, of which a rare one tells more', () => {
    expect(likenessOf(['a', 'b'], ['b', 'a'], NONE)).toBeCloseTo(1)
    expect(likenessOf(['a', 'b'], ['c'], NONE)).toBe(0)
    expect(likenessOf([], [], NONE)).toBe(0)
    const common = new Map([['list', 100]])
    expect(likenessOf(['list', 'zebra'], ['zebra', 'stripe'], common)).toBeGreaterThan(
      likenessOf(['list', 'zebra'], ['list', 'stripe'], common),
    )
  })

  test('raise an item the more it was used, up to as much as the words do', () => {
    const weights = [1, 2, 3, 20].map((times) => rankings(['a'], [use(1, ['a'], times)])[0]?.weight ?? 0)
    expect(weights).toEqual(weights.toSorted((a, b) => a - b))
    expect(weights[2]).toBe(1)
    expect(weights[3]).toBe(1)
    expect(rankings(['a'], [use(1, ['b'], 20)])).toEqual([])
    expect(rankings(['a'], [use(1, ['a'], 3, NOW - 365 * 24 * 3600 * 1000)])).toEqual([])
  })

  test('after three uses an item that fits is first, wherever it stood', () => {
    const byWords = { reason: '', weight: 1, rows: Array.from({ length: 200 }, (_, row) => row) }
    const [first] = fuse([byWords, ...rankings(['a'], [use(199, ['a'], 3)])])
    expect(first).toMatchObject({ row: 199, reasons: ['', 'used after like searches'] })
  })
})

test('S3: whatever was taught, few items are raised, none beyond the weight of the words, and only like ones', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const words = fc.uniqueArray(word, { minLength: 1, maxLength: 4 })
  const taught = fc.record({
    row: fc.nat(20),
    words,
    times: fc.double({ min: 0.1, max: 20, noNaN: true }),
    last: fc.constant(NOW),
  })
  fc.assert(
    fc.property(words, fc.array(taught, { maxLength: 60 }), (query, uses) => {
      const found = rankings(query, uses)
      expect(found.length).toBeLessThanOrEqual(5)
      for (const { weight, rows } of found) {
        expect(weight).toBeGreaterThan(0)
        expect(weight).toBeLessThanOrEqual(1)
        const own = uses.filter(({ row }) => row === rows[0])
        expect(own.some((each) => each.words.some((one) => query.includes(one)))).toBe(true)
      }
    }),
  )
})
