import { serverName } from '../shared/groups.ts'
import type { IndexedSpace, SearchQuery } from '../store/store.ts'
import type { Listed, Server } from './listed.ts'
import type { Shelf } from './shelf.ts'

interface ServerMeans {
  readonly roots: readonly IndexedSpace[]
  readonly shelf: Shelf
  readonly listed: Listed
  /** Of the spaces, and of what the index knows of them. */
  readonly state: () => string
}

/** Every server that is switched on and not shipped: asked of the index once for each state. */
export function createServers(means: ServerMeans): () => Promise<readonly Server[]> {
  const { roots, shelf, listed, state } = means
  let kept: { readonly at: string; readonly servers: readonly Server[] } | null = null
  return async () => {
    const at = state()
    if (kept?.at === at) return kept.servers
    const { hits } = await shelf.store.index.search({ ...ALL_SERVERS, roots })
    const names = new Set(hits.map(({ item_id: id }) => serverName(id)))
    const found = await Promise.allSettled(Array.from(names, async (name) => listed.serverFor(name)))
    // What is wrong with one is said where it is used.
    const servers = found.flatMap((one) => (one.status === 'fulfilled' ? (one.value ?? []) : []))
    kept = { at, servers }
    return servers
  }
}

/** Those that are switched off too. */
export const ALL_SERVERS: Omit<SearchQuery, 'roots'> = {
  words: [],
  spaces: ['project', 'user', 'registry'],
  itemTypes: ['mcp'],
  toolTypes: [],
  category: null,
  tags: [],
  server: null,
  sortBy: 'name',
  limit: 1000,
}
