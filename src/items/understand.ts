import type { Wish } from '../kernel/call.ts'
import { KiwiError } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { SpaceName } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import type { Kind } from './actions.ts'
import { readAction } from './actions.ts'
import { readNewItem } from './new-item.ts'

/** An `execute` call after its arguments were checked. */
export interface Order {
  readonly kind: Kind
  readonly action: string
  readonly itemId: string | undefined
  readonly version: string | undefined
  readonly parameters: JsonObject
}

/** What an action means for this kind of item. */
export async function understand(order: Order): Promise<Wish> {
  const { kind, itemId, version, parameters } = order
  const action = readAction(kind, order.action)
  if (action === 'create') return { kind: 'create', ...(await readNewItem(kind, itemId, parameters)) }
  if (itemId === undefined) throw wrong(`Cannot ${action}: "item_id" is missing`, ['item_id'], [])
  const ref = parseItemRef(itemId, version)
  const itemType = kind === 'thread' ? 'tool' : kind
  if (action === 'run') return { kind: 'run', ref, itemType, parameters }
  if (ref.version !== null) {
    throw wrong(
      `Cannot delete "${itemId}": versions stay; name the item alone to delete it whole`,
      [],
      ['version'],
    )
  }
  return { kind: 'delete', ref, itemType, source: readDelete(kind, itemId, parameters) }
}

/** The space to delete from, or null for the one the id leads to. Without a yes nothing is deleted. */
function readDelete(
  kind: Kind,
  itemId: string,
  { confirm, location, ...unknown }: JsonObject,
): SpaceName | null {
  const [strange] = Object.keys(unknown)
  if (strange !== undefined) {
    throw wrong(`Cannot delete "${itemId}": there is no parameter "${strange}"`, [], [strange])
  }
  const space = SPACES.find((name) => name === location)
  if (location !== undefined && space === undefined) {
    throw wrong(`Cannot delete "${itemId}": location is none of ${SPACES.join(', ')}`, [], ['location'])
  }
  if (confirm === true) return space ?? null
  const parameters = { ...(space === undefined ? {} : { location: space }), confirm: true }
  throw new KiwiError(
    'CONFIRM_REQUIRED',
    `Cannot delete "${itemId}": it was not confirmed, so nothing was changed`,
    {
      fix: { call: 'execute', arguments: { item_type: kind, action: 'delete', item_id: itemId, parameters } },
    },
  )
}

function wrong(message: string, missing: readonly string[], invalid: readonly string[]): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', message, {
    details: { missing, invalid: invalid.map((name) => ({ name, reason: 'not allowed here' })) },
  })
}
