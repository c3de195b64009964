import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { TYPE_RULES, itemTypeOf } from '../shared/tool-type.ts'
import { inputSchema } from './input-schema.ts'
import type { Manifest } from './manifest.ts'
import { flat, namesIn, schemaExample } from './schema-example.ts'

/** The `execute` arguments that run an item, with values its schema accepts; null when it is not run, or cannot be. */
export function readyCall(manifest: Manifest): JsonObject | null {
  const isGone = manifest.tool_type === 'mcp_tool' && manifest.config['mcp_state'] !== undefined
  if (!TYPE_RULES[manifest.tool_type].isRun || isGone) return null
  return {
    item_type: itemTypeOf(manifest.tool_type),
    action: 'run',
    item_id: manifest.tool_id,
    parameters: parametersOf(manifest),
  }
}

/** The parameters that must be given. */
export function requiredOf(manifest: Manifest): readonly string[] {
  return namesIn(inputSchema(manifest)['required'])
}

function parametersOf(manifest: Manifest): JsonObject {
  const schema = inputSchema(manifest)
  const needed = schemaExample({ ...schema, type: 'object' }, manifest.tool_id, schema)
  const must = isJsonObject(needed) ? needed : {}
  // The schema of a tool of a server stands beside its call; of all others this says which parameters there are.
  if (manifest.tool_type === 'mcp_tool') return must
  const { properties } = flat(schema, schema)
  const all = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, property]): readonly [string, JsonValue] => [
      name,
      must[name] ?? schemaExample(property, name, schema),
    ],
  )
  return JSON.stringify(all).length <= MOST_OF_ALL ? { ...must, ...Object.fromEntries(all) } : must
}

/** Beyond it only what must be given is named. */
const MOST_OF_ALL = 4000
