import type { AskedWords, FoundRow, StoreView } from '../store/store.ts'
import { wordsOf } from './parse-query.ts'

/** Of the best by words, how many are looked at: what a query names stands among them. */
const LOOKED_AT = 5

/** An item that the query names stays first, whatever else speaks for others. */
export async function namedFirst<T extends Pick<FoundRow, 'row'>>(
  order: readonly T[],
  byWords: readonly FoundRow[],
  asked: AskedWords,
  store: Pick<StoreView, 'show'>,
): Promise<readonly T[]> {
  const best = await store.show(byWords.slice(0, LOOKED_AT), asked)
  const named = new Set(best.filter((hit) => isNamed(hit, asked.words)).map(({ row }) => row))
  if (named.size === 0) return order
  return [...order.filter(({ row }) => named.has(row)), ...order.filter(({ row }) => !named.has(row))]
}

function isNamed(
  { item_id, name }: { readonly item_id: string; readonly name: string },
  words: readonly string[],
): boolean {
  const wanted = words.join(' ')
  const ownName = item_id.slice(item_id.indexOf('.') + 1)
  return [item_id, name, ownName].some((known) => wordsOf(known).join(' ') === wanted)
}
