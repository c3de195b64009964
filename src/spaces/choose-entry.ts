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
  itemAt: (entry: Entry) => Promise<Item | null>,
): Promise<Item | null> {
  const found = new Map<Entry, Item>()
  for (const entry of placed(ref, itemType, entries)) {
    const item = await itemAt(entry)
    if (item !== null && itemTypeOf(item.manifest.tool_type) === itemType) found.set(entry, item)
  }
  const chosen = choose(ref, itemType, [...found.keys()])
  return chosen === null ? null : (found.get(chosen) ?? null)
}

/** The file that is meant by its name alone, for one that may not be readable. */
export function fileNamed(ref: ItemRef, itemType: ItemType, entries: readonly Entry[]): Entry | null {
  const named = placed(ref, itemType, entries)
  return choose(ref, itemType, itemType === 'knowledge' ? named.filter(isOwnPlace(itemType)) : named)
}

/** Those of the category asked for. What lies with the tools may be of any type, knowledge too. */
function placed(ref: ItemRef, itemType: ItemType, entries: readonly Entry[]): readonly Entry[] {
  const isOwn = isOwnPlace(itemType)
  return entries.filter(
    (entry) =>
      (ref.category === null || entry.category === ref.category) && (entry.place === 'tools' || isOwn(entry)),
  )
}

/** Whether an entry lies in the folder for this type of item. */
function isOwnPlace(itemType: ItemType): (entry: Entry) => boolean {
  const own = itemType === 'directive' ? 'directives' : itemType === 'knowledge' ? 'knowledge' : 'tools'
  return ({ place }) => place === own
}

/** The one that is meant: what lies in the folder for its type first, the root's first. */
function choose(ref: ItemRef, itemType: ItemType, entries: readonly Entry[]): Entry | null {
  const documents = entries.filter(isOwnPlace(itemType))
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
  const ids = new Set(candidates.map(({ id }) => id))
  return new KiwiError('AMBIGUOUS_ID', `Cannot choose "${ref.name}": several files have this id: ${paths}`, {
    // Where two are called the same, no id tells them apart. Whoever reads the hint may not see the details.
    hint:
      ids.size < candidates.length ? 'Remove one of these files, or rename it' : `Write ${someOf([...ids])}`,
    details: { candidates },
  })
}

const MOST_NAMED = 10

function someOf(ids: readonly string[]): string {
  const more = ids.length - MOST_NAMED
  return `${ids.slice(0, MOST_NAMED).join(' or ')}${more > 0 ? `, or one of ${more} more` : ''}`
}
