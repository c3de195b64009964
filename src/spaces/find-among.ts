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
    if (itemType === 'mcp' && source === undefined) {
      const server = await vouchedFirst(serversOf(spaces, shelf, refs), shelf)
      if (server !== null) return server
      continue
    }
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

/** What nobody but an agent stands behind never takes the place of what a person configured, wherever it lies. */
async function vouchedFirst(servers: AsyncIterable<Item>, shelf: Shelf): Promise<Item | null> {
  let first: Item | null = null
  for await (const server of servers) {
    first ??= server
    // One that is shipped is a proposal until it is switched on.
    const isOffer = server.space === 'builtin' && server.manifest.enabled === false
    if (!isOffer && (await shelf.isVouched(server))) return server
  }
  return first
}

/** All that these names stand for, in their order; behind a file also the entry of the same space. */
async function* serversOf(
  spaces: readonly FileSpace[],
  shelf: Shelf,
  refs: readonly ItemRef[],
): AsyncGenerator<Item> {
  for (const ref of refs) {
    const stored = await findShelved(shelf, ref)
    const row = stored !== null && isMeant(stored, ref, 'mcp') ? stored : null
    if (ref.version !== null && row !== null) yield row
    for (const space of spaces) {
      const item = await findInFiles([space], shelf, ref, 'mcp')
      if (item === null) continue
      yield item
      const entry = item.form === 'entry' ? null : await space.entry(ref)
      if (entry !== null) yield entry
    }
    if (ref.version === null && row !== null) yield row
  }
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
