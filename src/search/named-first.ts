import type { FoundRow, SearchQuery, StoreView } from '../store/store.ts'

/** Items of one name are few: one in each space, and one of each server. */
const MOST_NAMED = 20

/** What a query says as the name of an item: names are joined in many ways. */
export function nameIn(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** A query with what it says as a name, and the very words of it. */
export interface NamingQuery extends SearchQuery {
  readonly name?: string
  readonly said?: string
}

/**
 * Items that the query names stand first, whatever else speaks for others: the one whose id it is, to the letter, then
 * those it calls by their id, then those of that name. They are looked up, since any number of others may be filled with
 * its words.
 */
export async function namedFirst<T extends FoundRow>(
  order: readonly T[],
  query: NamingQuery,
  toRanked: (found: FoundRow) => T,
  store: Pick<StoreView, 'find' | 'show'>,
): Promise<readonly T[]> {
  const called = query.name ?? nameIn(query.words.join(' '))
  if (called === '') return order
  const { found } = await store.find({ ...query, called, limit: MOST_NAMED })
  if (found.length === 0) return order
  const ranks = new Map(order.map((item) => [item.row, item]))
  const best = order[0]?.score ?? 1
  const shown = await store.show(found, { words: [] })
  const ids = new Map(shown.map(({ row, item_id }) => [row, item_id]))
  const closeness = ({ row }: FoundRow): number => {
    const id = ids.get(row) ?? ''
    return id === query.said ? 2 : nameIn(id) === called ? 1 : 0
  }
  const named = found.map(({ row }) => ranks.get(row) ?? toRanked({ row, score: best }))
  const first = named.toSorted((one, other) => closeness(other) - closeness(one))
  const isNamed = new Set(found.map(({ row }) => row))
  return [...first, ...order.filter(({ row }) => !isNamed.has(row))]
}
