/** One opinion about an order: rows of the search index, best first. */
export interface Ranking {
  /** What `why` says of the items it brought. */
  readonly reason: string
  /** Against the ranking by words, which weighs 1. */
  readonly weight: number
  readonly rows: readonly number[]
  /** By how many deviations each row is nearer than the average, where every item was looked at: these are added. */
  readonly deviations?: readonly number[]
}

interface Fused {
  readonly row: number
  /** 1 = first in every ranking. */
  readonly score: number
  /** Of the rankings that have it, in their order. */
  readonly reasons: readonly string[]
}

/** How close the first places of a ranking are to each other: with 60, as is usual, agreement far down outdoes a first place. */
const CLOSE = 5

/** Several rankings made one, by rank alone: their scores need not be comparable. Equal ones stay in the order they came. */
export function fuse(rankings: readonly Ranking[]): readonly Fused[] {
  const byRow = new Map<number, { sum: number; reasons: string[] }>()
  let most = 0
  for (const { reason, weight, rows } of rankings) {
    most += weight / (CLOSE + 1)
    for (const [at, row] of [...new Set(rows)].entries()) {
      const fused = byRow.get(row) ?? { sum: 0, reasons: [] }
      fused.sum += weight / (CLOSE + at + 1)
      fused.reasons.push(reason)
      byRow.set(row, fused)
    }
  }
  return Array.from(byRow, ([row, { sum, reasons }]) => ({ row, score: sum / most, reasons })).toSorted(
    (a, b) => b.score - a.score,
  )
}
