import { messageOf } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { isSchemaFinding } from '../spaces/definitions/schema-finding.ts'
import { shownDefinition } from '../spaces/definitions/shown-definition.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { CatalogTool } from '../store/catalog.ts'
import type { Arguments } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { toolOfServer } from './tool-of-server.ts'

interface ListedFirst {
  /** It was asked just now. */
  readonly isFresh: boolean
  /** Why it could not be asked: then nobody knows what it has. */
  readonly failure: unknown
  readonly warnings: readonly string[]
}

const NOTHING: ListedFirst = { isFresh: false, failure: null, warnings: [] }

/** Asks a server what it has before it, or a tool of it, is shown, when that is not known or too old. */
export async function listFirst(
  { item_type: type, item_id: id, project_path: projectPath }: Arguments<'load'>,
  lookup: Lookup,
  { kernel, ticket, workplaceAt }: MetaCall,
): Promise<ListedFirst> {
  const isMeant = type === 'mcp' || (id.includes('.') && !id.includes('/'))
  if (!isMeant) return NOTHING
  // It may have been saved a moment ago.
  lookup.freshen(true)
  const server = await lookup.serverFor(id)
  if (server === null) return NOTHING
  try {
    const listings = await kernel.listingsFor(ticket, await workplaceAt(projectPath))
    if (await listings.isCurrent(server)) return NOTHING
    const { warnings } = await listings.list(server)
    lookup.freshen(true)
    return { isFresh: true, failure: null, warnings }
  } catch (error) {
    return {
      isFresh: false,
      failure: error,
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
  const isServer = item.manifest.tool_type === 'mcp_server'
  const server = isServer || item.space === 'mcp' ? await lookup.serverFor(item.id) : null
  const which = toolOfServer(item)
  if (server === null) return which
  const listing = await lookup.listing(server.key)
  const listed = listing === null ? [] : await store.listed(server.key)
  if (!isServer) return { ...which, metadata: restOf(listed, which['tool_name']) }
  const names = new Set(listed.map(({ name }) => name))
  const tools = listed.flatMap((tool) => {
    const shown = tool.state === 'missing' ? null : server.overrides.show(tool.raw, names)
    if (shown === null) return []
    const { definition, mark } = shownDefinition(tool, shown.definition)
    const said = mark ?? tool.findings.find(isSchemaFinding) ?? null
    return [said === null ? definition : { ...definition, mark: said }]
  })
  const fetchedAt = listing === null ? null : new Date(listing.listed_at).toISOString()
  const protocol = listing === null || listing.protocol === '' ? null : listing.protocol
  return {
    mcp: server.name,
    protocol,
    tools,
    fetched_at: fetchedAt,
    from_cache: listing !== null && !isFresh,
  }
}

/** What a server says of a tool beside what is shown already: its title, annotations, output schema. */
function restOf(listed: readonly CatalogTool[], tool: JsonValue | undefined): JsonObject {
  const row = listed.find(({ name }) => name === tool)
  if (row === undefined) return {}
  const { definition, mark } = shownDefinition(row)
  const { name: _name, description: _description, inputSchema: _inputSchema, ...rest } = definition
  return mark === null ? rest : {}
}

/** The schema of a tool is large, and stands under `parameters`. */
export function withMetadata(data: JsonObject, { metadata: more, ...part }: JsonObject): JsonObject {
  const { metadata } = data
  if (data['tool_type'] !== 'mcp_tool' || !isJsonObject(metadata)) return { ...data, ...part }
  const { input_schema: _schema, ...written } = metadata
  return { ...data, metadata: { ...written, ...(isJsonObject(more) ? more : {}) }, ...part }
}

/** The tools of a server by name and first line, for where all that is said of them is too much; null for no server. */
export function outlineOf({ tools }: JsonObject): JsonObject | null {
  if (!Array.isArray(tools)) return null
  const lines = tools.map((tool: JsonValue): JsonObject => {
    const { name = null, description, mark } = isJsonObject(tool) ? tool : {}
    const [line = ''] = typeof description === 'string' ? description.trim().split('\n') : []
    return {
      name,
      ...(line === '' ? {} : { description: line.slice(0, LINE_CHARACTERS) }),
      ...(mark === undefined ? {} : { mark }),
    }
  })
  return { tools: lines }
}

const LINE_CHARACTERS = 120
