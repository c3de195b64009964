import { basename, dirname, join, relative } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { standsBeside } from '../spaces/beside.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { stampAt } from '../spaces/scan.ts'
import type { ItemWrite } from '../spaces/write.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { pathFor } from '../spaces/written-item.ts'
import type { Means } from './means.ts'

type Root = Pick<ItemWrite, 'root' | 'within'>

/** Where a file space lies, and what no link may lead out of. */
export function rootOf(
  id: string,
  location: 'project' | 'user',
  { projectPath }: Lookup,
  means: Means,
): Root {
  if (location === 'user') return { root: means.userSpace, within: null }
  if (projectPath !== null) return { root: join(projectPath, '.ai'), within: projectPath }
  throw new KiwiError('PROJECT_PATH_REQUIRED', `Cannot write "${id}": no project folder is known`)
}

/** An item on its way to the place that its id and category give it. */
export function newPlace(
  { id, manifest }: Pick<Item, 'id' | 'manifest'>,
  written: WrittenItem,
  { location, lookup, means }: { location: 'project' | 'user'; lookup: Lookup; means: Means },
): ItemWrite {
  return {
    id,
    ...rootOf(id, location, lookup, means),
    path: pathFor(written, id, manifest.category),
    isFolder: written.kind === 'folder',
    manifest: written.manifest,
    files: written.files,
    replaces: 'nothing',
  }
}

/** An item on its way to where it lies already; what changed there meanwhile is not written over. */
export function samePlace(
  { item, stamp }: Standing,
  written: WrittenItem,
  { lookup, means }: { lookup: Lookup; means: Means },
): ItemWrite {
  const { id, path, form, space } = item
  if (path === null || (space !== 'project' && space !== 'user'))
    throw new TypeError('it lies in no file space')
  const root = rootOf(id, space, lookup, means)
  const isFolder = form === 'folder'
  const target = isFolder ? dirname(path) : path
  // What a writer was killed over lies beside its place.
  const name = standsBeside(basename(target))?.name ?? basename(target)
  const { manifest, files } = written
  return {
    id,
    ...root,
    path: relative(root.root, join(dirname(target), name)),
    isFolder,
    manifest: { ...manifest, path: basename(path) },
    files,
    replaces: { stamp },
  }
}

/** An item as it is now, and the mark by which it is known to be that still. */
export interface Standing {
  readonly item: Item
  readonly stamp: string | null
}

/** The stamp is older than what is read: a change between the two can only be taken for one that came later. */
export async function standingItem(find: () => Promise<Item>, lookup: Lookup): Promise<Standing> {
  lookup.freshen(true)
  const { path, form } = await find()
  const stamp =
    path === null ? null : stampAt({ path, kind: form === 'folder' ? 'folder' : 'manifest', beside: [] })
  lookup.freshen(true)
  const item = await find()
  if (item.path === path) return { item, stamp }
  throw new KiwiError('CONFLICT', `Cannot change "${item.id}": it was moved meanwhile`, {
    hint: 'Send the call again',
    retryable: true,
    details: { path: item.path },
  })
}

/** Whether a file that cannot be read is mended by a whole text: it is nothing but that. Of a folder, as a skill is, what else is in it would have to be told. */
export function isMendable(path: string): boolean {
  return path.endsWith('.md') && basename(path) !== 'SKILL.md'
}
