import { satisfies } from 'semver'
import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { SpaceName } from '../store/store.ts'
import type { FileSpace } from './file-space.ts'
import type { Item } from './item.ts'
import type { Shelf } from './shelf.ts'
import { findShelved } from './shelf.ts'

/** What is looked for: any of these names as the first of these types that any space has. */
interface Wanted {
  readonly refs: readonly ItemRef[]
  readonly itemTypes: readonly ItemType[]
  /** One space only. */
  readonly source?: SpaceName | undefined
}

/**
 * Looks through file spaces in their order and then through the store. A version is what was published under it, so
 * with one the store is asked first: files count for versions that it does not hold.
 */
export async function findAmong(
  spaces: readonly FileSpace[],
  shelf: Shelf,
  { refs, itemTypes, source }: Wanted,
): Promise<Item | null> {
  const among = source === undefined ? spaces : spaces.filter(({ space }) => space === source)
  for (const itemType of itemTypes) {
    for (const ref of refs) {
      const inFiles = (): Promise<Item | null> => findInFiles(among, shelf, ref, itemType)
      const inStore = (): Promise<Item | null> => findShelved(shelf, ref)
      for (const find of ref.version === null ? [inFiles, inStore] : [inStore, inFiles]) {
        const item = await find()
        if (item !== null && isMeant(item, ref, itemType) && (source === undefined || source === item.space))
          return item
      }
    }
  }
  return null
}

async function findInFiles(
  spaces: readonly FileSpace[],
  shelf: Shelf,
  ref: ItemRef,
  itemType: ItemType,
): Promise<Item | null> {
  const reserved = await shelf.reserved()
  if (reserved.has(ref.name)) return null
  for (const space of spaces) {
    const item = await space.find(ref, itemType)
    // A file may be named otherwise than the id it declares.
    if (item === null || reserved.has(item.id) || itemTypeOf(item.manifest.tool_type) !== itemType) continue
    if (ref.version === null || satisfies(item.manifest.version, ref.version)) return item
  }
  return null
}

/** Files were chosen by category and version already; rows are by name alone. */
function isMeant({ path, manifest }: Item, { category }: ItemRef, itemType: ItemType): boolean {
  if (path !== null) return true
  return itemTypeOf(manifest.tool_type) === itemType && (category === null || manifest.category === category)
}
