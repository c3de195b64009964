import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'

/** Refuses to change one entry of a file that only a person writes. */
export function assertOwnFile(verb: string, { id, form, path }: Item): void {
  if (form !== 'entry') return
  const [file = '', name = id] = path?.split('#') ?? []
  throw new KiwiError('INVALID_PARAMETERS', `Cannot ${verb} "${id}": it is an entry of "${file}"`, {
    hint: `Ask the person to run kiwi add ${name} or kiwi remove ${name}, or to edit the file`,
    details: { missing: [], invalid: [{ name: 'item_id', reason: 'an entry of a list of servers' }] },
  })
}
