import { KiwiError } from '../shared/errors.ts'
import { isOurName } from '../shared/groups.ts'
import type { Item } from '../spaces/item.ts'
import { belongsTo } from '../spaces/foreign-name.ts'
import type { Lookup } from '../spaces/lookup.ts'

/** Nobody takes a name of ours, nor that of a tool of a server it does not belong to. */
export async function assertName(item: Item, action: string, lookup: Lookup): Promise<void> {
  const { id, manifest } = item
  const isNew = action === 'create' || action === 'copy'
  if (isNew && isOurName(id, manifest.tool_type))
    throw new KiwiError('RESERVED_ID', `Cannot ${action} "${id}": the name is one of Kiwi's own`)
  const refusal = await lookup.foreignName(item, action)
  if (refusal !== null) throw refusal
  if (manifest.tool_type === 'knowledge' || id.includes('.')) return
  // `server_tool` means the tool of the server too.
  const other = await lookup.find({ name: id, category: null, version: null }, 'tool', 'mcp')
  const server = other?.manifest.executor ?? null
  if (other !== null && server !== null && manifest.executor !== server)
    throw belongsTo(other.id.slice(0, other.id.indexOf('.')), { id, path: null, action })
}
