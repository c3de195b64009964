import type { FoundRow, SearchHit, SearchQuery, StoreView } from '../store/store.ts'
import type { Ranking } from './fuse.ts'
import { fuse } from './fuse.ts'

/** How far down the ranking by words others may still raise an item. */
const CANDIDATES = 200

/**
 * The items that fit a query, by their words and by every further ranking. A row of a further ranking that does not fit
 * the filters is left out; one without any of the words is shown with the reason of the ranking, and not counted.
 */
export async function rankItems(
  query: SearchQuery,
  further: readonly Ranking[],
  store: Pick<StoreView, 'find' | 'show'>,
): Promise<{ readonly hits: readonly SearchHit[]; readonly total: number }> {
  const rankings = further.filter(({ rows }) => rows.length > 0)
  const isFused = rankings.length > 0 && query.sortBy === 'score' && query.words.length > 0
  const limit = isFused ? Math.max(query.limit, CANDIDATES) : query.limit
  const { found, total } = await store.find({ ...query, limit })
  if (!isFused) return { hits: await store.show(found, query.words), total }
  const byWords = { reason: '', weight: 1, rows: found.map(({ row }) => row) }
  const fitting = new Set([...byWords.rows, ...(await othersThatFit(query, rankings, byWords.rows, store))])
  const others = rankings.map((ranking) => ({
    ...ranking,
    rows: ranking.rows.filter((row) => fitting.has(row)),
  }))
  const fused = fuse([byWords, ...others]).slice(0, query.limit)
  const reasons = new Map(fused.map(({ row, reasons: all }) => [row, all.filter((reason) => reason !== '')]))
  const hits = await store.show(fused.map(rounded), query.words)
  return { hits: hits.map((hit) => ({ ...hit, why: [...hit.why, ...(reasons.get(hit.row) ?? [])] })), total }
}

async function othersThatFit(
  query: SearchQuery,
  rankings: readonly Ranking[],
  known: readonly number[],
  store: Pick<StoreView, 'find'>,
): Promise<readonly number[]> {
  const wanted = new Set(rankings.flatMap(({ rows }) => rows))
  for (const row of known) wanted.delete(row)
  if (wanted.size === 0) return []
  const { found } = await store.find({ ...query, words: [], rows: [...wanted], limit: wanted.size })
  return found.map(({ row }) => row)
}

function rounded({ row, score }: FoundRow): FoundRow {
  return { row, score: Math.max(0.001, Math.round(score * 1000) / 1000) }
}
