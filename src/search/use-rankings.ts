import type { LikeUses } from '../store/uses.ts'
import { fadedTimes } from '../store/uses.ts'
import type { Ranking } from './fuse.ts'

/** What `why` says of an item that was used after like searches. */
export const USED = 'used after like searches'

/** Queries that share less are not alike. */
const LEAST_LIKENESS = 0.5
/** Uses after the very same search that have the whole effect: more of them have no more. */
const ENOUGH = 3
/** Items that one search raises. */
const MOST_RAISED = 5
const LEAST_WEIGHT = 0.01

/** What was used after like searches, one ranking for each item: it weighs as much as it was used, and at most as the words do. */
export function useRankings(
  words: readonly string[],
  { uses, frequency }: LikeUses,
  now: number,
): readonly Ranking[] {
  const counted = new Map<number, number>()
  for (const use of uses) {
    const likeness = likenessOf(words, use.words, frequency)
    if (likeness < LEAST_LIKENESS) continue
    counted.set(use.row, (counted.get(use.row) ?? 0) + likeness * fadedTimes(use, now))
  }
  return Array.from(counted, ([row, times]) => ({
    reason: USED,
    weight: Math.min(1, times / ENOUGH) ** 2,
    rows: [row],
  }))
    .filter(({ weight }) => weight >= LEAST_WEIGHT)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, MOST_RAISED)
}

/** Between 0 and 1, by the words that both have: a rare one tells more. */
export function likenessOf(
  a: readonly string[],
  b: readonly string[],
  frequency: ReadonlyMap<string, number>,
): number {
  const weight = (word: string): number => (1 + Math.log(frequency.get(word) ?? 1)) ** -2
  const sum = (words: readonly string[]): number => words.reduce((all, word) => all + weight(word), 0)
  const other = new Set(b)
  const most = Math.sqrt(sum(a) * sum(b))
  return most === 0 ? 0 : Math.min(1, sum(a.filter((word) => other.has(word))) / most)
}
