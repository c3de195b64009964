import { serverName } from '../../shared/groups.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { Store } from '../../store/store.ts'

/** Names of servers that a directive may write as a resource. */
export async function knownServers(lookup: Lookup, store: Pick<Store, 'index'>): Promise<readonly string[]> {
  await lookup.syncIndex()
  const { hits } = await store.index.search({
    words: [],
    spaces: ['project', 'user', 'builtin', 'registry'],
    roots: lookup.roots,
    itemTypes: ['mcp'],
    toolTypes: [],
    category: null,
    tags: [],
    server: null,
    sortBy: 'name',
    limit: MOST_SERVERS,
  })
  return hits.map(({ item_id: server }) => serverName(server))
}

const MOST_SERVERS = 1000
