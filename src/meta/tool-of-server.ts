import { serverOf } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'

/** Which tool of which server an item is; nothing for any other. */
export function toolOfServer({ id, manifest }: Item): JsonObject {
  const { tool_type: type, executor, config } = manifest
  const server = type === 'mcp_tool' ? serverOf(type, id, executor) : null
  if (server === null) return {}
  const { mcp_tool_name: name } = config
  return { mcp: server, tool_name: typeof name === 'string' ? name : id.slice(id.indexOf('.') + 1) }
}
