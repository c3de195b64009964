import { serverName } from '../shared/groups.ts'
import { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { CatalogTool } from '../store/catalog.ts'
import type { Item } from './item.ts'
import { readManifest } from './manifest.ts'

/** A tool that an upstream lists, as an item of the space `mcp`; null for one that cannot be called. */
export function listedItem(tool: CatalogTool, server: Item, listedAt: number): Item | null {
  if (tool.state === 'missing' || tool.state === 'unusable') return null
  const name = serverName(server.id)
  const id = ItemName.safeParse(`${name}.${tool.name}`)
  if (!id.success) return null
  const raw: JsonObject = {
    tool_id: id.data,
    tool_type: 'mcp_tool',
    executor: server.id,
    version: server.manifest.version,
    category: categoryOf(server),
    ...(tool.state === 'quarantined' ? WITHHELD : definitionOf(tool.raw)),
    config: { mcp_tool_name: tool.name },
  }
  const { manifest } = readManifest(raw, { stem: id.data, category: null })
  return {
    id: id.data,
    space: 'mcp',
    form: 'row',
    path: null,
    manifest,
    raw,
    text: null,
    contentHash: tool.pin,
    warnings: [],
    isReserved: false,
    updatedAt: new Date(listedAt).toISOString(),
    filePaths: [],
    files: async () => [],
    ...(tool.reason === null ? {} : { quarantine: tool.reason }),
  }
}

/** Where what a server lists is found, and where it is written. */
export function categoryOf({ id }: Item): string {
  return `mcp/${serverName(id)}`
}

/** Nothing that the upstream wrote reaches a model before a person has seen it. */
const WITHHELD: JsonObject = {
  description:
    'quarantined: nothing of it is shown, and it cannot be called, until a person has looked at it',
  input_schema: { type: 'object' },
}

/** What an upstream says of harm is believed for one thing: whether a call that was cut off may be sent again. */
function definitionOf({ title, description, inputSchema, annotations }: JsonObject): JsonObject {
  const hints = isJsonObject(annotations) ? annotations : {}
  const isRepeatable = hints['readOnlyHint'] === true || hints['idempotentHint'] === true
  const shown = description ?? title ?? hints['title'] ?? ''
  return {
    description: typeof shown === 'string' ? shown : '',
    input_schema: isJsonObject(inputSchema) ? inputSchema : { type: 'object' },
    ...(isRepeatable ? { idempotent: true } : {}),
  }
}
