import type { FoundRow, SearchQuery, StoreView } from '../store/store.ts'

/** Whoever asks with more words than that asks for what they mean together. */
const FEW_WORDS = 3

/**
 * Whoever types a word or two expects to see it: the best item that has all of them stands before any that has none, however
 * near that one is in meaning.
 */
export async function wholeFirst<T extends FoundRow>(
  order: readonly T[],
  byWords: ReadonlyMap<number, number>,
  query: SearchQuery,
  store: Pick<StoreView, 'find'>,
): Promise<readonly T[]> {
  const above = order.findIndex(({ row }) => !byWords.has(row))
  if (above === -1 || query.words.length > FEW_WORDS) return order
  const below = order.slice(above).filter(({ row }) => byWords.has(row))
  if (below.length === 0) return order
  const rows = order.map(({ row }) => row).filter((row) => byWords.has(row))
  const { found } = await store.find({ ...query, everyWord: true, rows, limit: rows.length })
  const isWhole = new Set(found.map(({ row }) => row))
  const best = order.find(({ row }) => isWhole.has(row))
  if (best === undefined || !below.includes(best)) return order
  return [...order.slice(0, above), best, ...order.slice(above).filter((one) => one !== best)]
}
