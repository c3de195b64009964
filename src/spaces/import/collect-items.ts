import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../../shared/limits.ts'
import { list, statOf } from '../disk.ts'
import { DEEPEST } from '../folder-files.ts'
import type { Entry, PlaceName } from '../scan.ts'
import { FOLDER_MANIFESTS, kindOf, twinsAmong } from '../scan.ts'

/** One thing that can be imported, not read yet. */
export interface Find {
  /** A file, or the folder of an item. */
  readonly from: string
  /** Where it goes, from the root of a space: `tools/web/greet.py`. */
  readonly to: string
  /** How it is read; null for a file of a library. */
  readonly entry: Entry | null
}

/** Something that is left where it is, and why. */
export interface Left {
  readonly path: string
  readonly reason: string
}

/** What a walk has met so far. */
export interface Bag {
  readonly finds: Find[]
  readonly left: Left[]
  names: number
}

/** Where items of one place are looked for. */
interface Way {
  readonly folder: string
  readonly to: string
  readonly category: string | null
  readonly depth: number
  readonly place: PlaceName
}

/** Puts every file below a folder into the bag: as something to import, or as something left. */
export function collectItems(bag: Bag, folder: string, place: PlaceName): void {
  collect(bag, { folder, to: place, category: null, depth: 0, place })
}

/** The folder of one item: a `tool.yaml` or a `SKILL.md` with everything beside it. */
export function collectFolder(
  bag: Bag,
  { from, to }: Pick<Find, 'from' | 'to'>,
  place: PlaceName,
  category: string | null = null,
): void {
  const path = join(from, FOLDER_MANIFESTS[place] ?? '')
  const stem = to.slice(to.lastIndexOf('/') + 1)
  bag.finds.push({ from, to, entry: entryOf({ path, stem, kind: 'folder', category, place, beside: [] }) })
}

/** What a folder holds, in one order everywhere; one without end is left as a whole. */
export function listed(bag: Bag, folder: string): readonly Dirent[] {
  const entries = list(folder)
  bag.names += entries.length
  if (entries.length <= LIMITS.importFolderNames && bag.names <= LIMITS.importNames)
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const reason = `more than ${LIMITS.importFolderNames} names in one folder, or ${LIMITS.importNames} in all`
  bag.left.push({ path: folder, reason })
  return []
}

function collect(bag: Bag, way: Way): void {
  const entries = listed(bag, way.folder)
  const twins = way.place === 'tools' ? twinsAmong(entries) : new Map<string, readonly string[]>()
  for (const found of entries) {
    const path = join(way.folder, found.name)
    const fault = notPlain(found) ?? (found.isDirectory() ? null : notItem(way.place, found.name))
    if (fault !== null) bag.left.push({ path, reason: fault })
    else if (found.isDirectory()) enter(bag, way, found.name)
    else
      bag.finds.push({ from: path, to: `${way.to}/${found.name}`, entry: fileEntry(way, found.name, twins) })
  }
}

function enter(bag: Bag, way: Way, name: string): void {
  const path = join(way.folder, name)
  const to = `${way.to}/${name}`
  const isTools = way.place === 'tools'
  const manifest = FOLDER_MANIFESTS[way.place]
  const reason = isTools ? LEFT_FOLDERS.get(name) : undefined
  if (isTools && name === 'lib') collectLibrary(bag, path, to)
  else if (reason !== undefined) bag.left.push({ path, reason })
  else if (manifest !== null && statOf(join(path, manifest))?.isDirectory() === false)
    collectFolder(bag, { from: path, to }, way.place, way.category)
  else if (way.depth >= DEEPEST) bag.left.push({ path, reason: TOO_DEEP })
  else {
    const category = way.category === null ? name : `${way.category}/${name}`
    collect(bag, { ...way, folder: path, to, category, depth: way.depth + 1 })
  }
}

function collectLibrary(bag: Bag, folder: string, to: string, depth = 0): void {
  for (const found of listed(bag, folder)) {
    const at = { from: join(folder, found.name), to: `${to}/${found.name}` }
    const fault = notPlain(found) ?? LEFT_FOLDERS.get(found.name) ?? (depth >= DEEPEST ? TOO_DEEP : null)
    if (fault !== null) bag.left.push({ path: at.from, reason: fault })
    else if (found.isDirectory()) collectLibrary(bag, at.from, at.to, depth + 1)
    else bag.finds.push({ ...at, entry: null })
  }
}

const TOO_DEEP = `nested deeper than ${DEEPEST} folders`
const FOREIGN = 'code of an older kernel: nothing here runs it'
const MADE_AGAIN = 'made again when it is needed'

/** Folders that are never items, wherever they lie. */
export const LEFT_FOLDERS: ReadonlyMap<string, string> = new Map([
  ['primitives', 'the primitives are part of Kiwi'],
  ['extractors', FOREIGN],
  ['parsers', FOREIGN],
  ['sinks', FOREIGN],
  ['node_modules', MADE_AGAIN],
  ['__pycache__', MADE_AGAIN],
])

/** Why something is neither a file nor a folder to look into. */
export function notPlain(found: Dirent): string | null {
  if (found.isSymbolicLink()) return 'a link: links are not followed'
  if (!found.isFile() && !found.isDirectory()) return 'not a regular file'
  return found.name.startsWith('.') ? 'hidden' : null
}

function notItem(place: PlaceName, name: string): string | null {
  const [, kind] = kindOf(name) ?? []
  if (kind === undefined || name === FOLDER_MANIFESTS[place]) return 'no kind of file that holds an item'
  return (kind === 'document') === (place === 'tools') ? `not a kind of file for ${place}` : null
}

function fileEntry(
  { folder, category, place }: Pick<Way, 'folder' | 'category' | 'place'>,
  name: string,
  twins: ReadonlyMap<string, readonly string[]>,
): Entry {
  const [stem, kind] = kindOf(name) ?? [name, 'manifest' as const]
  const beside = twins.get(stem)?.filter((other) => kindOf(other)?.[1] !== kind) ?? []
  return entryOf({ path: join(folder, name), stem, kind, category, place, beside })
}

/** One file by itself, wherever it lies. */
export function collectFile(bag: Bag, folder: string, to: string, place: PlaceName): void {
  const parts = to.split('/')
  const name = parts.at(-1) ?? ''
  const category = parts.slice(1, -1).join('/') || null
  const entry = fileEntry({ folder, category, place }, name, new Map())
  bag.finds.push({ from: join(folder, name), to, entry })
}

/** Read once, so that nobody asks whether it has changed. */
function entryOf(entry: Omit<Entry, 'stamp' | 'modified'>): Entry {
  return { ...entry, stamp: '', modified: 0 }
}
