import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { removeItem, targetOf, writeItem } from '../spaces/write.ts'
import { writtenOf } from '../spaces/written-item.ts'
import { assertName } from './assert-name.ts'
import { assertOwnFile } from './assert-own-file.ts'
import { assertUnshadowed } from './assert-unshadowed.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'
import { newPlace } from './place.ts'
import { mayVouch } from './vouch.ts'

/** An item to be copied into a file space, with its category and all its files. The same again changes nothing. */
export async function copyWork(
  { item, destination, overwrite }: Extract<Wish, { kind: 'copy' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  if (item.isReserved) {
    throw new KiwiError('RESERVED_ID', `Cannot copy "${item.id}": its id cannot be taken by another space`)
  }
  assertOwnFile('copy', item)
  await assertName(item, 'copy', lookup)
  // In the user's own space everything is trusted.
  if (destination === 'user' && item.space === 'project') {
    await mayVouch(item, { verb: 'copy', by: ticket.caller.kind, lookup, means })
  }
  lookup.freshen(true)
  await assertUnshadowed('copy', item, destination, { ticket, lookup, means })
  const standing = (): Promise<Item | null> =>
    lookup.standing(item.id, itemTypeOf(item.manifest.tool_type), destination)
  const there = await standing()
  const isSame = there?.contentHash === item.contentHash
  if (there !== null && !isSame && !overwrite) throw conflict(item, there)
  const place = newPlace(item, await writtenOf(item), { location: destination, lookup, means })
  const write: ItemWrite = { ...place, replaces: overwrite ? 'any' : 'nothing' }
  const target = targetOf(write)
  const result = (path: string | null, isChanged: boolean): JsonObject => ({
    destination,
    path,
    changed: isChanged,
  })
  const link = { id: item.id, version: item.manifest.version, space: destination }
  return {
    item: link,
    action: 'copy',
    chain: [link],
    demands: [{ op: 'tool', id: item.id, action: 'copy' }, ...itemWrites([target], ticket)],
    isRepeatable: !overwrite,
    isReadOnly: false,
    parameters: { item_id: item.id, source: item.space, destination, content_hash: item.contentHash },
    redact: keepAll,
    preview: () => ({ would_write: target }),
    warnings: [],
    async perform() {
      if (isSame) return { data: result(there.path, false), warnings: await whyNotRun(there, lookup, means) }
      const path = await writeItem(write, (work) => means.store.exclusively(work)).catch(
        async (error: unknown) => {
          lookup.freshen(true)
          // Somebody may have made the same copy meanwhile.
          if ((await standing())?.contentHash === item.contentHash) return null
          throw error
        },
      )
      if (path === null) return { data: result(target, false), warnings: [] }
      const isMoved = there !== null && there.path !== null && there.path !== path
      const warnings = isMoved ? await removeItem(there.path, there.form === 'folder', write.within) : []
      lookup.freshen(true)
      return {
        data: result(path, true),
        warnings: [...warnings, ...(await whyNotRun(await standing(), lookup, means))],
      }
    },
  }
}

/** What a copy lacks where it is now, such as an executor that stayed behind. */
async function whyNotRun(copied: Item | null, lookup: Lookup, { chain }: Means): Promise<readonly string[]> {
  if (copied === null) return []
  try {
    await chain.resolver.plan(copied, lookup)
    return []
  } catch (error) {
    return [`the copy does not run: ${messageOf(error)}`]
  }
}

function conflict(item: Item, there: Item): KiwiError {
  return new KiwiError(
    'CONFLICT',
    `Cannot copy "${item.id}": another "${item.id}" is already there at "${there.path}"`,
    {
      hint: 'Send it again with overwrite = true to replace it, or delete it first',
      details: { path: there.path, content_hash: there.contentHash, wanted: item.contentHash },
    },
  )
}
