import { array, assert, constantFrom, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareLines, unifiedDiff } from './unified-diff.ts'

const lines = array(constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 })

describe('X12: a comparison', () => {
  test('holds both sides, whole and in order, and is as short as it can be', () => {
    assert(
      property(lines, lines, (before, after) => {
        const compared = compareLines(before, after) ?? []
        const side = (mark: string): string[] =>
          compared.filter((line) => line.mark === ' ' || line.mark === mark).map(({ text }) => text)
        expect(side('-')).toEqual(before)
        expect(side('+')).toEqual(after)
        const changes = compared.filter(({ mark }) => mark !== ' ').length
        expect(changes).toBe(before.length + after.length - 2 * common(before, after))
      }),
      { numRuns: 500 },
    )
  })

  test('shows what changed with a few lines around it', () => {
    const before = Array.from({ length: 30 }, (_, n) => `line ${n}`)
    const after = before.with(2, 'changed').toSpliced(20, 0, 'new')
    expect(unifiedDiff(`${before.join('\n')}\n`, `${after.join('\n')}\n`)).toBe(
      [
        '@@ -1,6 +1,6 @@',
        ' line 0',
        ' line 1',
        '-line 2',
        '+changed',
        ' line 3',
        ' line 4',
        ' line 5',
        '@@ -18,6 +18,7 @@',
        ' line 17',
        ' line 18',
        ' line 19',
        '+new',
        ' line 20',
        ' line 21',
        ' line 22',
      ].join('\n'),
    )
  })

  test.each([
    ['a\n', 'a\n', ''],
    ['', 'a\n', '@@ -0,0 +1,1 @@\n+a'],
    ['a\n', '', '@@ -1,1 +0,0 @@\n-a'],
    ['a', 'a\n', '@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a'],
  ])('%j and %j', (before, after, wanted) => {
    expect(unifiedDiff(before, after)).toBe(wanted)
  })

  test('what is too large or too different is not compared for ever', () => {
    const many = (mark: string, count: number): string => `${mark}\n`.repeat(count)
    expect(unifiedDiff(many('a', 60_000), many('b', 10))).toBeNull()
    expect(unifiedDiff(many('a', 5000), many('b', 5000))).toBeNull()
    expect(unifiedDiff(many('a', 20_000), `${many('a', 20_000)}b\n`)).toContain('+b')
  })
})

/** The longest list of lines that both have in this order, worked out the plain way. */
function common(before: readonly string[], after: readonly string[]): number {
  let above = after.map(() => 0)
  for (const line of before) {
    const row: number[] = []
    for (const [at, other] of after.entries()) {
      row.push(line === other ? (above[at - 1] ?? 0) + 1 : Math.max(above[at] ?? 0, row[at - 1] ?? 0))
    }
    above = row
  }
  return above.at(-1) ?? 0
}
