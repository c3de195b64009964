import { spokenIn } from '../search/parse-query.ts'
import type { ByMeaning } from '../search/vector-search.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { IndexedSpace } from '../store/store.ts'
import type { VectorPlace } from '../store/vectors.ts'
import type { Arguments } from './arguments.ts'
import type { MetaCall } from './context.ts'

const NOTHING: ByMeaning = { rankings: [], warnings: [] }

/** What is meant beside the words, where a person set an embedder and an order is asked for. */
export async function rankByMeaning(
  { query, sort_by: sortBy }: Arguments<'search'>,
  { vectors, ticket }: Pick<MetaCall, 'vectors' | 'ticket'>,
): Promise<ByMeaning> {
  const spoken = spokenIn(query)
  if (vectors === null || sortBy !== 'score' || spoken === '') return NOTHING
  return vectors.rank(spoken, ticket.caller.kind === 'person')
}

/** What nobody has trusted is not sent anywhere. */
export async function fillVectors(
  places: readonly IndexedSpace[],
  lookup: Lookup,
  { vectors, kernel }: Pick<MetaCall, 'vectors' | 'kernel'>,
): Promise<void> {
  vectors?.fill(await embeddedPlaces(places, lookup, kernel))
}

/** Where vectors are made for. */
export async function embeddedPlaces(
  places: readonly IndexedSpace[],
  { projectPath }: Lookup,
  { isTrusted }: Pick<MetaCall['kernel'], 'isTrusted'>,
): Promise<readonly VectorPlace[]> {
  const isOpen = projectPath === null || (await isTrusted(projectPath))
  return [...STORED, ...places.filter(({ space }) => space !== 'project' || isOpen)]
}

/** The spaces of the store itself have no folder. */
const STORED: readonly VectorPlace[] = [
  { space: 'builtin', root: '' },
  { space: 'registry', root: '' },
]
