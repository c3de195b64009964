import { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { CatalogTool } from '../store/catalog.ts'
import { isSchemaFinding, isUncallable } from './definitions/schema-finding.ts'
import { shownDefinition } from './definitions/shown-definition.ts'
import type { Item } from './item.ts'
import type { Server } from './listed.ts'
import { readManifest } from './manifest.ts'

/**
 * A tool that an upstream lists, as an item of the space `mcp`; null for one that cannot be called or is not shown.
 * `listed` are the names of all of them: none is taken from the tool that has it.
 */
export function listedItem(
  tool: CatalogTool,
  server: Server,
  listedAt: number,
  listed?: ReadonlySet<string>,
): Item | null {
  const raw = listedManifest(tool, server, listed)
  if (raw === null) return null
  const { manifest } = readManifest(raw, { stem: null, category: null })
  return {
    id: manifest.tool_id,
    space: 'mcp',
    form: 'row',
    path: null,
    manifest,
    raw,
    text: null,
    contentHash: tool.pin,
    warnings: tool.state === 'usable' ? tool.findings.filter(isSchemaFinding) : [],
    isReserved: false,
    updatedAt: new Date(listedAt).toISOString(),
    filePaths: [],
    files: async () => [],
  }
}

/** The same as its author would write it; of one that is kept from agents, nothing that the upstream wrote. */
export function listedManifest(
  tool: CatalogTool,
  server: Server,
  listed?: ReadonlySet<string>,
): JsonObject | null {
  if (tool.state === 'missing' || tool.state === 'unusable') return null
  const overridden = server.overrides.show(tool.raw, listed)
  const id = ItemName.safeParse(`${server.name}.${overridden?.name}`)
  if (overridden === null || !id.success) return null
  const { definition, mark } = shownDefinition(tool, overridden.definition)
  return {
    tool_id: id.data,
    tool_type: 'mcp_tool',
    executor: server.item.id,
    version: server.item.manifest.version,
    category: `mcp/${server.name}`,
    ...(mark === null ? definitionOf(definition) : { description: mark, input_schema: { type: 'object' } }),
    config: { mcp_tool_name: tool.name, ...taskOf(tool.raw), ...stateOf(tool) },
  }
}

/** Some tools of the older era can only be called as tasks. */
function taskOf({ execution }: JsonObject): JsonObject {
  const support = isJsonObject(execution) ? execution['taskSupport'] : undefined
  return support === 'required' ? { mcp_task: support } : {}
}

/** What cannot be called now is shown without a call. */
function stateOf({ state, findings }: CatalogTool): JsonObject {
  if (state === 'quarantined') return { mcp_state: state }
  return findings.some(isUncallable) ? { mcp_state: 'unusable' } : {}
}

/** What an upstream says of harm is believed for one thing: whether a call that was cut off may be sent again. */
function definitionOf({ name, title, description, inputSchema, annotations }: JsonObject): JsonObject {
  const hints = isJsonObject(annotations) ? annotations : {}
  const isRepeatable = hints['readOnlyHint'] === true || hints['idempotentHint'] === true
  const shown = description ?? title ?? hints['title'] ?? ''
  return {
    description: typeof shown === 'string' && shown.trim() !== '' ? shown : `The tool ${textOf(name)}`,
    input_schema: isJsonObject(inputSchema) ? inputSchema : { type: 'object' },
    ...(isRepeatable ? { idempotent: true } : {}),
  }
}
