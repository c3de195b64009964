import { KiwiError } from '../shared/errors.ts'
import { isJsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Ticket } from './call.ts'

/** A call that is longer is not said again. */
const MOST_CHARACTERS = 8192

/** Running and reading take a document for a tool where there is no other; what is changed or gone is never meant so. */
export function assertMeant(
  action: string,
  { id, manifest }: Item,
  itemType: ItemType,
  { parameters, subject }: Ticket,
): void {
  if (itemType !== 'tool' || manifest.tool_type !== 'knowledge') return
  const given = isJsonObject(parameters) ? parameters : {}
  const fix = { item_type: 'knowledge', action, item_id: subject, parameters: given }
  const isShort = JSON.stringify(given).length <= MOST_CHARACTERS
  throw new KiwiError('INVALID_PARAMETERS', `Cannot ${action} "${id}": it is knowledge, no tool`, {
    hint: 'Send the call again with item_type knowledge',
    ...(isShort ? { fix: { call: 'execute', arguments: fix } } : {}),
    details: { missing: [], invalid: [{ name: 'item_type', reason: 'it is knowledge' }] },
  })
}
