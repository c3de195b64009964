import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { versionNotFound } from '../spaces/not-found.ts'
import type { SpaceName } from '../store/store.ts'

/** The item as it is on disk now: what is missing or changed may have been saved a moment ago. */
export async function findItem(
  lookup: Lookup,
  ref: ItemRef,
  itemType: ItemType,
  source?: SpaceName,
): Promise<Item> {
  lookup.freshen()
  const known = await lookup.find(ref, itemType, source)
  if (known !== null && lookup.isCurrent(known)) return known
  lookup.freshen(true)
  const item = await lookup.find(ref, itemType, source)
  if (item === null) throw await versionNotFound(ref, itemType, lookup, source)
  return item
}
