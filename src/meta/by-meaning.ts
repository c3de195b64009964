import { spokenIn } from '../search/parse-query.ts'
import type { ByMeaning } from '../search/vector-search.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { IndexedSpace } from '../store/store.ts'
import type { VectorPlace } from '../store/vectors.ts'
import type { Arguments } from './arguments.ts'
import type { MetaCall } from './context.ts'

const NOTHING: ByMeaning = { rankings: [], read: null, warnings: [] }

/** What is meant beside the words, where an order is asked for. */
interface Meaning {
  /** Once it is known what there is. */
  rank(places: readonly IndexedSpace[], lookup: Lookup): Promise<ByMeaning>
}

/** The vector of the query is made while others look at what there is. */
export function openMeaning(
  { query, sort_by: sortBy }: Arguments<'search'>,
  { vectors, ticket, kernel }: Pick<MetaCall, 'vectors' | 'ticket' | 'kernel'>,
): Meaning {
  const spoken = spokenIn(query)
  const isRanked = sortBy === 'score' && spoken !== ''
  if (isRanked) vectors?.prepare(spoken)
  return {
    async rank(places, lookup) {
      if (vectors === null) return NOTHING
      const read = vectors.isOwn ? [...STORED, ...places] : await embeddedPlaces(places, lookup, kernel)
      vectors.begin(read)
      return isRanked ? vectors.rank(spoken, read, ticket.caller.kind === 'person') : NOTHING
    },
  }
}

/** Where vectors are made for by who is sent the texts: what nobody has trusted is not sent anywhere. */
export async function embeddedPlaces(
  places: readonly IndexedSpace[],
  { projectPath }: Lookup,
  { isTrusted }: Pick<MetaCall['kernel'], 'isTrusted'>,
): Promise<readonly VectorPlace[]> {
  const isOpen = projectPath === null || (await isTrusted(projectPath))
  return [...STORED, ...places.filter(({ space }) => space !== 'project' || isOpen)]
}

/** The spaces of the store itself have no folder. */
export const STORED: readonly VectorPlace[] = [
  { space: 'builtin', root: '' },
  { space: 'registry', root: '' },
]
