import { messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { shownDefinition } from '../spaces/definitions/shown-definition.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Arguments } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { toolOfServer } from './tool-of-server.ts'

interface ListedFirst {
  /** It was asked just now. */
  readonly isFresh: boolean
  readonly warnings: readonly string[]
}

const NOTHING: ListedFirst = { isFresh: false, warnings: [] }

/** Asks a server what it has before it, or a tool of it, is shown, when that is not known or too old. */
export async function listFirst(
  { item_type: type, item_id: id, project_path: projectPath }: Arguments<'load'>,
  lookup: Lookup,
  { kernel, ticket, workplaceAt }: MetaCall,
): Promise<ListedFirst> {
  const isMeant = type === 'mcp' || (id.includes('.') && !id.includes('/'))
  const server = isMeant ? await lookup.serverFor(id) : null
  if (server === null) return NOTHING
  try {
    const listings = await kernel.listingsFor(ticket, await workplaceAt(projectPath))
    if (await listings.isCurrent(server)) return NOTHING
    const { warnings } = await listings.list(server)
    lookup.freshen(true)
    return { isFresh: true, warnings }
  } catch (error) {
    return {
      isFresh: false,
      warnings: [`"${server.name}" could not be asked what it has: ${messageOf(error)}`],
    }
  }
}

/** What a server lists, as it was sent but for what is kept from agents; of a tool of a server, which one it is there. */
export async function serverPart(
  item: Item,
  isFresh: boolean,
  lookup: Lookup,
  { store }: Pick<MetaCall, 'store'>,
): Promise<JsonObject> {
  const server = item.manifest.tool_type === 'mcp_server' ? await lookup.serverFor(item.id) : null
  if (server === null) return toolOfServer(item)
  const listing = await lookup.listing(server.key)
  const listed = listing === null ? [] : await store.listed(server.key)
  const names = new Set(listed.map(({ name }) => name))
  const tools = listed.flatMap((tool) => {
    const shown = tool.state === 'missing' ? null : server.overrides.show(tool.raw, names)
    if (shown === null) return []
    const { definition, mark } = shownDefinition(tool, shown.definition)
    return [mark === null ? definition : { ...definition, mark }]
  })
  const fetchedAt = listing === null ? null : new Date(listing.listed_at).toISOString()
  return { mcp: server.name, tools, fetched_at: fetchedAt, from_cache: listing !== null && !isFresh }
}
