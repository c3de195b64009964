import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { withVersion } from '../spaces/change-item.ts'
import type { Item } from '../spaces/item.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readyCall, requiredOf } from '../spaces/ready-call.ts'
import { targetOf } from '../spaces/write.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { assertUnshadowed } from './assert-unshadowed.ts'
import type { Authored } from './author.ts'
import { author } from './author.ts'
import type { Location, Ticket, Wish, Work } from './call.ts'
import { inlineServer } from './inline-server.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'
import { assertUnpublished } from './next-version.ts'
import { isMendable, newPlace } from './place.ts'
import { ruleCheck } from './rule-check.ts'
import { linksOf } from './run-work.ts'
import { writeSigned } from './write-signed.ts'

/** An item to be made. */
export async function createWork(
  { item: given, location }: Extract<Wish, { kind: 'create' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  // An executor that was saved a moment ago is one.
  lookup.freshen(true)
  const brought = await inlineServer(given, location, lookup)
  const server =
    brought === null
      ? null
      : await createWork({ kind: 'create', item: brought.item, location }, lookup, ticket, means)
  const authorIt = (written: WrittenItem, category: string | null): Promise<Authored> =>
    author(written, {
      action: 'create',
      stem: given.id,
      category,
      location,
      lookup: brought?.lookup ?? lookup,
      means,
    })
  const read = await authorIt(given.written, null)
  assertMeant(read.item, given.id, given.itemType)
  assertCategory(read.item, given.category, location)
  // What is new starts at 1.0.0.
  const isUnversioned = read.item.raw['version'] === undefined
  const written = isUnversioned ? await withVersion(given.written, '1.0.0') : given.written
  const isRead = !isUnversioned && given.category === null
  const authored = isRead ? read : await authorIt(written, given.category)
  const { item, plan, warnings } = authored
  const { manifest } = item
  await assertFree(item, location, lookup, means)
  await assertUnshadowed('create', item, location, { ticket, lookup, means })
  await assertUnpublished('create', item, means.store.registry)
  const rules = await ruleCheck(plan, { action: 'create', ticket, lookup, means })
  const write = location === 'registry' ? null : newPlace(item, authored.written, { location, lookup, means })
  return {
    item: { id: item.id, version: manifest.version, space: location },
    action: 'create',
    chain: linksOf(plan),
    demands: [
      ...(server?.demands ?? []),
      { op: 'tool', id: item.id, action: 'create' },
      ...itemWrites(write === null ? [] : [targetOf(write)], ticket),
      ...rules.demands,
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { tool_id: item.id, location, content_hash: item.contentHash },
    redact: keepAll,
    preview: () => ({
      executor_chain: plan.chain,
      tool_type: manifest.tool_type,
      would_write: write === null ? 'registry' : targetOf(write),
      ...(server === null ? {} : { also_creates: server.preview() }),
      ...rules.preview(),
    }),
    warnings: [...(server?.warnings ?? []), ...warnings, ...rules.warnings],
    async perform(watch) {
      const found = await rules.check(watch?.signal)
      const first = await server?.perform(watch)
      const by = ticket.caller.kind
      const made = await writeSigned(authored, { write, changelog: null, lookup, means, by })
      return {
        data: {
          ...writtenData('Created', await withInputs(made.item, lookup), location),
          ...(first === undefined ? {} : { also_created: first.data }),
        },
        warnings: [...found, ...(first?.warnings ?? []), ...made.warnings],
      }
    },
  }
}

/** What is said of an item that was just written. */
export function writtenData(
  done: string,
  { id, manifest, contentHash, path }: Item,
  location: Location,
): JsonObject {
  return {
    output: `${done} ${manifest.tool_type} "${id}" ${manifest.version} in ${location}`,
    tool_id: id,
    version: manifest.version,
    source: location,
    path,
    content_hash: contentHash,
    call: readyCall(manifest),
    required: requiredOf(manifest),
  }
}

/** What a document or a source says of itself must be what the call says of it. */
function assertMeant(item: Item, id: string, itemType: string): void {
  const type = itemTypeOf(item.manifest.tool_type)
  const isMeant = item.id === id && (type === itemType || itemType === 'tool')
  if (isMeant) return
  const [name, reason] =
    item.id === id
      ? ['item_type', `it is of type ${item.manifest.tool_type}, which is no ${itemType}`]
      : ['tool_id', `it says itself that it is "${item.id}"`]
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create "${id}": ${reason}`, {
    hint: 'Say the same in the call and in the item',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}

/** The folder that the path form of an id names: the registry has none, so there the item says it itself. */
function assertCategory({ id, manifest }: Item, category: string | null, location: Location): void {
  const own = manifest.category
  if (category === null || own === category || (own === null && location !== 'registry')) return
  const reason = own === null ? 'the registry has no folders' : `it says itself that its category is "${own}"`
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create "${category}/${id}": ${reason}`, {
    hint: `Send item_id "${id}" and parameters.category, such as "${category}"`,
    details: { missing: [], invalid: [{ name: 'category', reason }] },
  })
}

/** Ids of shipped executors cannot be taken, and an item that is there is never replaced by another. */
async function assertFree(
  { id, manifest }: Item,
  location: Location,
  lookup: Lookup,
  { store }: Means,
): Promise<void> {
  if ((await store.registry.reserved()).has(id)) {
    throw new KiwiError(
      'RESERVED_ID',
      `Cannot create "${id}": the id belongs to a tool that is shipped with Kiwi`,
    )
  }
  if (location === 'registry') return
  const itemType = itemTypeOf(manifest.tool_type)
  const hint = 'Change it with update, choose another id, or delete it first'
  const broken = await lookup.broken({ name: id, category: null, version: null }, itemType, location)
  if (broken !== null)
    throw new KiwiError('CONFLICT', takenBy(id, broken.path), {
      hint: `It cannot be read: ${isMendable(broken.path) ? 'send its whole text with update' : 'delete it first'}, or choose another id`,
      details: { ...broken },
    })
  const there = await lookup.standing(id, itemType, location)
  if (there === null) return
  const standing = { item_type: itemTypeOf(there.manifest.tool_type), item_id: id, source: location }
  throw new KiwiError('CONFLICT', takenBy(id, there.path), {
    hint,
    fix: { call: 'load', arguments: standing },
    details: { path: there.path },
  })
}

function takenBy(id: string, path: string | null): string {
  return `Cannot create "${id}": it is already there at "${path}"`
}
