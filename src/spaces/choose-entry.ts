import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from './item.ts'
import type { Entry } from './scan.ts'

/** The item that is meant among files of one name: they may be of different types, which only reading tells. */
export async function pickItem(
  ref: ItemRef,
  itemType: ItemType,
  entries: readonly Entry[],
  itemAt: (entry: Entry) => Promise<Item>,
): Promise<Item | null> {
  const found = await Promise.all(
    placed(ref, itemType, entries).map(async (entry) => ({ entry, item: await itemAt(entry) })),
  )
  const ofType = found.filter(({ item }) => itemTypeOf(item.manifest.tool_type) === itemType)
  const chosen = choose(
    ref,
    ofType.map(({ entry }) => entry),
  )
  return ofType.find(({ entry }) => entry === chosen)?.item ?? null
}

/** The file that is meant by its name alone, for one that may not be readable. */
export function fileNamed(ref: ItemRef, itemType: ItemType, entries: readonly Entry[]): Entry | null {
  const isDocument = itemType === 'knowledge'
  return choose(
    ref,
    placed(ref, itemType, entries).filter(({ kind }) => (kind === 'document') === isDocument),
  )
}

/** Those of the category asked for. A document is knowledge; what is no document may be of any type, knowledge too. */
function placed(ref: ItemRef, itemType: ItemType, entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(
    ({ category, kind }) =>
      (ref.category === null || category === ref.category) &&
      (kind !== 'document' || itemType === 'knowledge'),
  )
}

/** The one that is meant: documents first, the root's first. */
function choose(ref: ItemRef, entries: readonly Entry[]): Entry | null {
  const documents = entries.filter(({ kind }) => kind === 'document')
  const near = documents.length > 0 ? documents : entries
  const atRoot = near.filter(({ category }) => category === null)
  const fitting = atRoot.length > 0 ? atRoot : near
  const [only = null, another] = fitting
  if (another !== undefined) throw ambiguous(ref, fitting)
  return only
}

function ambiguous(ref: ItemRef, entries: readonly Entry[]): KiwiError {
  const candidates = entries.map(({ category, stem, path }) => ({
    id: category === null ? stem : `${category}/${stem}`,
    path,
  }))
  const paths = candidates.map(({ path }) => path).join(', ')
  return new KiwiError('AMBIGUOUS_ID', `Cannot choose "${ref.name}": several files have this id: ${paths}`, {
    details: { candidates },
  })
}
