import type { FoundRow, NearRow, SearchHit, SearchQuery, StoreView } from '../store/store.ts'
import type { Ranking } from './fuse.ts'
import { fuse } from './fuse.ts'
import type { NamingQuery } from './named-first.ts'
import { namedFirst } from './named-first.ts'
import type { ByMeaning } from './vector-search.ts'
import { wholeFirst } from './whole-first.ts'
import type { WordTable } from './word-table.ts'

interface RankMeans {
  readonly store: Pick<StoreView, 'search' | 'find' | 'show' | 'nearest'>
  /** What words mean; given when a query is ranked for the first time. */
  readonly wordTable: () => Promise<WordTable>
}

/** How far down a ranking others may still raise an item. */
const CANDIDATES = 200
/** What a deviation above the average in meaning weighs against a score by words: by the table alone, and by both. */
const MEANING = 6
const BESIDE_READER = 2
const READER = 12
/** The same for what an embedder finds near. */
const EMBEDDER = 6

/** What has none of the words must stand out from the rest, and be near the question itself. */
const STANDS_OUT = 1.5
const NEAR = 0.2
/** One word alone means many things. */
const NEAR_A_WORD = 0.36
/** The same of what was read as a whole. */
const READ_NEAR = 0.2
const READ_NEAR_A_WORD = 0.4
/** The reader knows English: of a query with fewer words of it than this part it understands nothing, and would say anything. */
const UNDERSTOOD = 0.5

/**
 * The items that fit a query: by their words, by what they are about, and by every further ranking of rows. What has none
 * of the words is shown only if it fits the filters.
 */
export async function rankItems(
  asked: NamingQuery,
  { rankings: further, read }: Pick<ByMeaning, 'rankings' | 'read'>,
  means: RankMeans,
): Promise<{ readonly hits: readonly SearchHit[]; readonly total: number }> {
  const { store } = means
  if (asked.words.length === 0) return store.search(asked)
  const table = await means.wordTable()
  const query = { ...asked, spelt: table.spelt(asked.words) }
  if (query.sortBy !== 'score') return store.search(query)
  const { found, total } = await store.find({ ...query, limit: Math.max(query.limit, CANDIDATES) })
  const isUnderstood = query.spelt.size >= UNDERSTOOD * query.words.length
  const byTable = await nearBy(query.words, table, store)
  const meant = meantBy(byTable, isUnderstood ? read : null, query.words.length === 1)
  const others = further.filter(({ rows }) => rows.length > 0)
  const rows = [...meant.map(({ row }) => row), ...others.flatMap((ranking) => ranking.rows)]
  const byWords = new Map(found.map(({ row, score }) => [row, score]))
  const fits = new Set([...byWords.keys(), ...(await otherRows(query, rows, byWords, store))])
  const isFit = ({ row }: { readonly row: number }): boolean => fits.has(row)
  const summed = addFurther(addUp(byWords, meant.filter(isFit)), others, isFit)
  const ranked = await wholeFirst(summed, byWords, query, store)
  const orders = others.filter(({ deviations }) => deviations === undefined)
  const fused = orders.length === 0 ? ranked : mergeOrders(ranked, orders, fits)
  const merged = await namedFirst(fused, query, (one) => ({ ...one, reasons: [] }), store)
  const order = falling(merged).slice(0, query.limit)
  const hits = await store.show(order, query)
  const reasons = new Map(order.map((item) => [item.row, item.reasons]))
  return {
    hits: hits.map((hit) => ({ ...hit, why: [...hit.why, ...(reasons.get(hit.row) ?? [])] })),
    // Of so many that some were not looked at, all that is shown may be among those.
    total: total > found.length ? total : merged.length,
  }
}

type Nearest = ReturnType<StoreView['nearest']>

/** What the meaning of a row is worth. */
interface Meant extends FoundRow {
  /** Whether it is so near that none of the words is needed. */
  readonly isNear: boolean
}

interface Ranked extends FoundRow {
  readonly reasons: readonly string[]
}

/** The rows that are about the same; none when nothing is known of the words. */
async function nearBy(
  words: readonly string[],
  table: WordTable,
  store: Pick<StoreView, 'nearest'>,
): Nearest {
  const vector = table.queryOf(words.join(' '))
  if (vector === null) return []
  const vectorOf = (text: string): Int8Array => table.vectorOf(text) ?? new Int8Array(table.size)
  const near = await store.nearest({ vector, vectorOf, most: CANDIDATES })
  return near.filter(({ score }) => score > 0)
}

/** What the table finds near, and the reader where it has read every item: who reads as a whole says what is near. */
function meantBy(
  byTable: readonly NearRow[],
  read: readonly NearRow[] | null,
  isOneWord: boolean,
): readonly Meant[] {
  const [near, readNear] = isOneWord ? [NEAR_A_WORD, READ_NEAR_A_WORD] : [NEAR, READ_NEAR]
  if (read === null)
    return byTable.map((one) => ({ row: one.row, score: MEANING * one.score, isNear: standsOut(one, near) }))
  const sums = new Map<number, Meant>()
  for (const one of read)
    sums.set(one.row, { row: one.row, score: READER * one.score, isNear: standsOut(one, readNear) })
  for (const { row, score } of byTable) {
    const known = sums.get(row)
    const sum = (known?.score ?? 0) + BESIDE_READER * score
    sums.set(row, { row, score: sum, isNear: known?.isNear ?? false })
  }
  return [...sums.values()].toSorted((a, b) => b.score - a.score)
}

function standsOut({ score, nearness }: NearRow, least: number): boolean {
  return score >= STANDS_OUT && nearness >= least
}

/** Which of the rows that lack the words fit the filters. */
async function otherRows(
  query: SearchQuery,
  rows: readonly number[],
  byWords: ReadonlyMap<number, number>,
  store: Pick<StoreView, 'find'>,
): Promise<readonly number[]> {
  const wanted = [...new Set(rows)].filter((row) => !byWords.has(row))
  if (wanted.length === 0) return []
  const { found } = await store.find({ ...query, words: [], rows: wanted, limit: wanted.length })
  return found.map(({ row }) => row)
}

/** Scores of both kinds can be added: the better the words fit, the less it matters what they mean. */
function addUp(byWords: ReadonlyMap<number, number>, meant: readonly Meant[]): readonly Ranked[] {
  const sums = new Map<number, Ranked>()
  for (const [row, score] of byWords) sums.set(row, { row, score, reasons: [] })
  let alone = 0
  for (const { row, score, isNear } of meant) {
    const words = byWords.get(row)
    if (words === undefined && (!isNear || ++alone > MOST_ALONE)) continue
    sums.set(row, {
      row,
      score: rounded((words ?? 0) + score),
      reasons: words === undefined ? ['meaning'] : [],
    })
  }
  // Equal ones stay in the order of the words.
  return [...sums.values()].toSorted((a, b) => b.score - a.score)
}

/** A model of a person's choice knows more than a table of words: where it has looked at every item, it weighs more. */
function addFurther(
  ranked: readonly Ranked[],
  further: readonly Ranking[],
  isFit: (item: { readonly row: number }) => boolean,
): readonly Ranked[] {
  const sums = new Map(ranked.map((item) => [item.row, item]))
  for (const { reason, rows, deviations = [] } of further) {
    for (const [at, row] of rows.entries()) {
      const found = deviations[at]
      if (found === undefined || !isFit({ row })) continue
      const known = sums.get(row)
      const score = rounded((known?.score ?? 0) + EMBEDDER * found)
      sums.set(row, { row, score, reasons: [...(known?.reasons ?? []), reason] })
    }
  }
  return [...sums.values()].toSorted((a, b) => b.score - a.score)
}

/** What has none of the words is a guess, and a few are enough: the nearest come first. */
const MOST_ALONE = 5

function mergeOrders(
  ranked: readonly Ranked[],
  others: readonly Ranking[],
  fits: ReadonlySet<number>,
): readonly Ranked[] {
  const known = new Map(ranked.map((item) => [item.row, item]))
  const fused = fuse([
    { reason: '', weight: 1, rows: ranked.map(({ row }) => row) },
    ...others.map((ranking) => ({ ...ranking, rows: ranking.rows.filter((row) => fits.has(row)) })),
  ])
  return fused.map(({ row, reasons }) => ({
    row,
    score: known.get(row)?.score ?? 0,
    reasons: [...(known.get(row)?.reasons ?? []), ...reasons.filter((reason) => reason !== '')],
  }))
}

/** What others raised has the score of the best that it was raised above, so that scores stay comparable and fall. */
function falling(order: readonly Ranked[]): readonly Ranked[] {
  let most = 0
  return order
    .toReversed()
    .map((item) => ({ ...item, score: (most = Math.max(most, rounded(item.score))) }))
    .toReversed()
}

function rounded(score: number): number {
  return Math.max(0.001, Math.round(score * 1000) / 1000)
}
