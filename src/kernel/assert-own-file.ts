import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'

/** Refuses to change one entry of a file that only a person writes, and what only a server says. */
export function assertOwnFile(verb: string, { id, form, path, space, manifest }: Item): void {
  if (space === 'mcp') throw listedBy(verb, id, manifest.executor)
  if (form !== 'entry') return
  const [file = '', name = id] = path?.split('#') ?? []
  throw new KiwiError('INVALID_PARAMETERS', `Cannot ${verb} "${id}": it is an entry of "${file}"`, {
    hint: `Ask the person to run kiwi add ${name} or kiwi remove ${name}, or to edit the file`,
    details: { missing: [], invalid: [{ name: 'item_id', reason: 'an entry of a list of servers' }] },
  })
}

function listedBy(verb: string, id: string, server: string | null): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot ${verb} "${id}": it is what "${server}" says it has`, {
    hint: 'Write its tools as items of your own first, with the action "discover" of the server',
    fix: { call: 'execute', arguments: { item_type: 'mcp', action: 'discover', item_id: server } },
    details: { missing: [], invalid: [{ name: 'item_id', reason: 'listed by a server' }] },
  })
}
