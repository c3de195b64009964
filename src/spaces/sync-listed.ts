import { messageOf } from '../shared/errors.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { openTurns } from '../shared/take-turns.ts'
import type { IndexEntry, IndexedSpace, Store } from '../store/store.ts'
import { toIndexEntry } from './describe.ts'
import type { Fault } from './file-space.ts'
import { listedItem } from './listed-item.ts'
import type { Server } from './listed.ts'

/** What the index holds now. */
export interface Indexed {
  readonly places: readonly IndexedSpace[]
  /** What could not be read, or put into it. */
  readonly faults: readonly Fault[]
}

/** Makes the search index equal to what these servers list: only what has changed since is read. */
export async function syncListed(servers: readonly Server[], store: Store): Promise<Indexed> {
  const { catalog, index } = store
  const places: IndexedSpace[] = []
  const faults: Fault[] = []
  for (const server of servers) {
    const place: IndexedSpace = { space: 'mcp', root: rootOf(server) }
    const revision = await catalog.revision(server.key)
    if (revision === null) continue
    places.push(place)
    if ((await index.stampOf(place)) === revision) continue
    try {
      await index.replace(place, await entriesOf(server, revision, store))
    } catch (error) {
      const reason = `what "${server.name}" lists is not found: ${messageOf(error)}`
      faults.push({ path: server.item.path ?? server.item.id, reason })
    }
  }
  return { places, faults }
}

/** Shown otherwise, it is found otherwise. */
function rootOf({ key, item }: Server): string {
  const { tools } = item.manifest.config
  return tools === undefined ? key : `${key}:${sha256(canonicalJson(tools)).slice(0, 16)}`
}

async function entriesOf(
  server: Server,
  revision: string,
  { catalog }: Store,
): Promise<readonly IndexEntry[]> {
  const at = (await catalog.listing(server.key))?.listed_at ?? 0
  const tools = await catalog.tools(server.key)
  const names = new Set(tools.filter(({ state }) => state !== 'missing').map(({ name }) => name))
  const entries: IndexEntry[] = []
  const turn = openTurns()
  for (const tool of tools) {
    await turn()
    const item = listedItem(tool, server, at, names)
    if (item !== null) entries.push(await toIndexEntry(item, tool.name, revision))
  }
  return entries
}
