import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Ranking } from './fuse.ts'
import { fuse } from './fuse.ts'

const rows = fc.uniqueArray(fc.nat(20), { maxLength: 12 })
const orderOf = (rankings: readonly Ranking[]): number[] => fuse(rankings).map(({ row }) => row)

test('S3: what two rankings agree on comes before what one of them has, and says both reasons', () => {
  const fused = fuse([
    { reason: 'text', weight: 1, rows: [1, 2, 3] },
    { reason: 'use', weight: 1, rows: [3, 4] },
  ])
  expect(fused.map(({ row, reasons }) => [row, ...reasons])).toEqual([
    [3, 'text', 'use'],
    [1, 'text'],
    [2, 'text'],
    [4, 'use'],
  ])
})

test('S3: a heavier ranking decides, and a first place everywhere is 1', () => {
  const light = { reason: 'a', weight: 0.1, rows: [1, 2] }
  expect(orderOf([light, { reason: 'b', weight: 1, rows: [2, 1] }])).toEqual([2, 1])
  expect(fuse([light])[0]).toEqual({ row: 1, score: 1, reasons: ['a'] })
  expect(fuse([])).toEqual([])
})

test('S3: one ranking alone keeps its order, and every row comes once', () => {
  fc.assert(
    fc.property(rows, rows, (first, second) => {
      expect(orderOf([{ reason: 'a', weight: 1, rows: first }])).toEqual(first)
      const both = orderOf([
        { reason: 'a', weight: 1, rows: [...first, ...first] },
        { reason: 'b', weight: 0.5, rows: second },
      ])
      expect(new Set(both)).toEqual(new Set([...first, ...second]))
      expect(both).toHaveLength(new Set(both).size)
    }),
  )
})
