import { z } from 'zod'
import type { Wish } from '../kernel/call.ts'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { isGlob } from '../shared/glob.ts'
import type { ItemRef } from '../shared/ids.ts'
import { Category, parseItemRef, timeOfId } from '../shared/ids.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { SpaceName } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import type { Kind } from './actions.ts'
import { readAction } from './actions.ts'
import { readPublish, readUpdate } from './change.ts'
import { readNewItem } from './new-item.ts'

/** An `execute` call after its arguments were checked. */
export interface Order {
  readonly kind: Kind
  readonly action: string
  readonly itemId: string | undefined
  readonly version: string | undefined
  readonly parameters: JsonObject
  /** The run that the call names. */
  readonly runId?: string | undefined
}

/** What an action means for this kind of item. */
export function understand(order: Order): Maybe<Wish> {
  const { kind, itemId, version, parameters } = order
  const action = readAction(kind, order.action)
  if (action === 'create')
    return readNewItem(kind, itemId, parameters).then((created) => ({ kind: 'create', ...created }))
  if (action === 'finish') return readFinish(order)
  if (itemId === undefined) throw wrong(`Cannot ${action}: "item_id" is missing`, ['item_id'], [])
  if (action === 'undo') return readUndo(itemId, parameters)
  const itemType = kind === 'thread' ? 'tool' : kind
  if (action === 'sign') {
    const target = isGlob(itemId) ? { pattern: itemId } : parseItemRef(itemId, version)
    return { kind: 'sign', target, itemType, ...readSign(itemId, parameters) }
  }
  if (action === 'run')
    return { kind: 'run', ref: parseItemRef(itemId, version), ...runOf(order), parameters }
  const ref = unversioned(action, itemId, version)
  const made = version === undefined ? parameters : { version, ...parameters }
  switch (action) {
    case 'update':
      return { kind: 'update', ref, itemType, ...readUpdate(itemId, made, itemType) }
    case 'publish':
      return { kind: 'publish', ref, itemType, ...readPublish(itemId, made) }
    case 'discover':
      return { kind: 'discover', ref, location: readLocation(itemId, parameters) }
    case 'delete':
      return { kind: 'delete', ref, itemType, ...readDelete(itemId, parameters) }
  }
}

/** Where what a server has is written. */
function readLocation(itemId: string, { location = 'project', ...unknown }: JsonObject): 'project' | 'user' {
  const [strange] = Object.keys(unknown)
  if (strange !== undefined)
    throw wrong(`Cannot discover "${itemId}": there is no parameter "${strange}"`, [], [strange])
  if (location === 'project' || location === 'user') return location
  throw wrong(`Cannot discover "${itemId}": location is none of project, user`, [], ['location'])
}

/** Whoever makes a version may say which beside the id; it is never one that is there. */
function unversioned(action: string, itemId: string, version: string | undefined): ItemRef {
  const isMade = action === 'update' || action === 'publish'
  const ref = parseItemRef(itemId, isMade ? undefined : version)
  if (ref.version === null) return ref
  throw wrong(`Cannot ${action} "${itemId}": versions stay as they are; name the item alone`, [], ['version'])
}

/** A server is not run: one of its tools is. */
function runOf({ kind, itemId = '', parameters }: Order): { readonly itemType: ItemType } {
  if (kind === 'mcp' && !itemId.includes('.')) throw noToolNamed(itemId, parameters['tool'])
  return { itemType: kind === 'thread' || kind === 'mcp' ? 'tool' : kind }
}

function noToolNamed(server: string, given: JsonValue | undefined): KiwiError {
  const reason =
    given === undefined ? 'is missing' : typeof given === 'string' ? 'is empty' : 'must be a text'
  return new KiwiError('INVALID_PARAMETERS', `Cannot call "${server}": "tool" ${reason}`, {
    hint: `Name one of its tools: parameters {"tool": "<name>", ...}, or item_id "${server}.<name>"`,
    fix: { call: 'load', arguments: { item_type: 'mcp', item_id: server } },
    details:
      given === undefined
        ? { missing: ['tool'], invalid: [] }
        : { missing: [], invalid: [{ name: 'tool', reason }] },
  })
}

/** A call is no item: its id has no version and no category. */
function readUndo(id: string, parameters: JsonObject): Wish {
  const [strange] = Object.keys(parameters)
  if (strange !== undefined) throw wrong(`Cannot undo "${id}": it takes no parameters`, [], [strange])
  return { kind: 'undo', id }
}

/** The id is that of the run; or it is the directive's, and the run is named beside it, or is the one the session is in. */
function readFinish({ itemId, parameters, runId }: Order): Wish {
  const { run_id: named, ...unknown } = parameters
  const [strange] = Object.keys(unknown)
  if (strange !== undefined || (named !== undefined && typeof named !== 'string'))
    throw wrong(`Cannot finish "${itemId ?? ''}": it takes run_id alone`, [], [strange ?? 'run_id'])
  if (named === undefined && itemId !== undefined && timeOfId(itemId) !== null)
    return { kind: 'finish', runId: itemId, directive: null }
  const run = named ?? runId ?? null
  const isDirective = itemId !== undefined && itemId !== run
  return { kind: 'finish', runId: run, directive: isDirective ? parseItemRef(itemId).name : null }
}

const SignParameters = z.strictObject({
  location: z.enum(['project', 'user', 'registry']).nullable().default(null),
  category: Category.nullable().default(null),
})

function readSign(itemId: string, given: JsonObject): z.infer<typeof SignParameters> {
  const parsed = SignParameters.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues)
  const faults = invalid.map(({ name, reason }) => `"${name}" ${reason}`).join('; ')
  throw new KiwiError('INVALID_PARAMETERS', `Cannot sign "${itemId}": ${faults}`, {
    hint: 'sign takes location (project, user or registry) and category',
    details: { missing: [], invalid },
  })
}

/** Where to delete from, and whether that is meant: without a yes it is only told what would go. */
function readDelete(
  itemId: string,
  { confirm, location, ...unknown }: JsonObject,
): { readonly source: SpaceName | null; readonly isConfirmed: boolean } {
  const [strange] = Object.keys(unknown)
  if (strange !== undefined) {
    throw wrong(`Cannot delete "${itemId}": there is no parameter "${strange}"`, [], [strange])
  }
  const source = SPACES.find((name) => name === location) ?? null
  if (location !== undefined && source === null) {
    throw wrong(`Cannot delete "${itemId}": location is none of ${SPACES.join(', ')}`, [], ['location'])
  }
  return { source, isConfirmed: confirm === true }
}

function wrong(message: string, missing: readonly string[], invalid: readonly string[]): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', message, {
    details: { missing, invalid: invalid.map((name) => ({ name, reason: 'not allowed here' })) },
  })
}
