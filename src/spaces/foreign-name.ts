import { KiwiError } from '../shared/errors.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Item } from './item.ts'
import type { Server } from './listed.ts'

/** Why nobody may be called so: the id begins with the name of a server that this is no tool of. Null when it does not. */
export async function foreignName(
  { id, space, path, manifest: { tool_type, executor } }: Pick<Item, 'id' | 'space' | 'path' | 'manifest'>,
  action: string,
  serverFor: (name: string) => Maybe<Server | null>,
): Promise<KiwiError | null> {
  // What is shipped was named before any server, and what a server lists is its own.
  if (tool_type === 'knowledge' || space === 'builtin' || space === 'mcp' || !id.includes('.')) return null
  const server = await serverFor(id)
  if (server === null || (tool_type === 'mcp_tool' && executor === server.item.id)) return null
  return belongsTo(server.name, { id, path, action })
}

export function belongsTo(
  server: string,
  { id, path, action }: { readonly id: string; readonly path: string | null; readonly action: string },
): KiwiError {
  const where = path === null ? '' : ` at "${path}"`
  return new KiwiError(
    'RESERVED_ID',
    `Cannot ${action} "${id}"${where}: it is called like a tool of the server "${server}" and is none`,
    {
      hint: 'Choose another id; one that is there already goes with delete and its location',
      details: { server, path },
    },
  )
}
