import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { TYPE_RULES, itemTypeOf } from '../shared/tool-type.ts'
import { inputSchema } from './input-schema.ts'
import type { Manifest } from './manifest.ts'
import { namesIn, schemaExample } from './schema-example.ts'

/** The `execute` arguments that run an item, with what must be given in values its schema accepts; null when it is not run, or cannot be. */
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

/** What must be given and no more: a made-up value of what may be left out would change what the call does. */
function parametersOf(manifest: Manifest): JsonObject {
  const schema = inputSchema(manifest)
  const needed = schemaExample({ ...schema, type: 'object' }, manifest.tool_id, schema)
  return isJsonObject(needed) ? needed : {}
}
