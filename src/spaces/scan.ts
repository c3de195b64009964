import type { Dirent, Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import { lastAside, standsBeside } from './beside.ts'
import { list, mayPass, statOf } from './disk.ts'
import { DEEPEST, folderFiles } from './folder-files.ts'

/** One place in a space where an item can be read. */
export interface Entry {
  readonly path: string
  readonly stem: string
  /** Folders between the type folder and the file; null at its root. */
  readonly category: string | null
  readonly place: PlaceName
  /** A manifest by itself, a folder with `tool.yaml` or `SKILL.md`, a markdown document, or a script. */
  readonly kind: 'manifest' | 'folder' | 'document' | 'script'
  /** Names of what lies beside it under the same stem: of a manifest the scripts, of a script the manifests. */
  readonly beside: readonly string[]
  /** Changes when a file of the item does. */
  readonly stamp: string
  readonly modified: number
  /** Of a plain file what its stamp is made of, besides the time: numbers are compared without making texts of them. */
  readonly seen?: readonly [size: number, inode: number, mode: number]
}

/** What the folder an entry lies in is for. */
export type PlaceName = 'tools' | 'directives' | 'knowledge'

/** Shared libraries, and what seeds of old keep their own primitives in: never items. */
export const NOT_ITEMS: ReadonlySet<string> = new Set(['lib', 'primitives', 'node_modules', '__pycache__'])

/** The folders of a space that hold items; `scripts` is what `tools` was called before. */
const TYPE_FOLDERS: readonly (readonly [folder: string, place: PlaceName])[] = [
  ['tools', 'tools'],
  ['scripts', 'tools'],
  ['directives', 'directives'],
  ['knowledge', 'knowledge'],
]

export function typeFolders(root: string): readonly string[] {
  return TYPE_FOLDERS.map(([folder]) => join(root, folder))
}

/** Finds every item below a space's root at once. */
export function scan(...given: Parameters<typeof scanByParts>): ReadonlyMap<string, Entry> {
  const parts = scanByParts(...given)
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
  }
}

/**
 * Finds every item below a space's root by names and stats alone; nothing is opened. What was found `before` and is
 * still the same is the same entry again: thousands of new ones would cost more than the look. It may pause behind
 * every item that is a folder, since one alone may hold thousands of files.
 */
export function* scanByParts(
  root: string,
  notItems: ReadonlySet<string> = NOT_ITEMS,
  leaveOut: ReadonlySet<string> = new Set(),
  before: ReadonlyMap<string, Entry> = new Map(),
): Generator<void, ReadonlyMap<string, Entry>> {
  const found = new Map<string, Entry>()
  const add = (entry: Entry): void => void found.set(entry.path, entry)
  for (const [name, place] of TYPE_FOLDERS) {
    const folder = join(root, name)
    if (leaveOut.has(folder)) continue
    const own = place === 'tools' ? notItems : new Set<string>()
    yield* scanFolder({ folder, category: null, depth: 0, place, notItems: own, before }, add)
  }
  return found
}

interface Place {
  readonly folder: string
  readonly category: string | null
  readonly depth: number
  readonly place: PlaceName
  readonly notItems: ReadonlySet<string>
  readonly before: ReadonlyMap<string, Entry>
}

function* scanFolder(place: Place, add: (entry: Entry) => void): Generator<void> {
  const listed = list(place.folder)
  const twins = place.place === 'tools' ? twinsAmong(listed) : NO_TWINS
  for (const found of listed) {
    if (found.name.startsWith('.')) {
      const name = found.isDirectory() ? asideFor(place.folder, found.name, listed) : null
      if (name !== null) yield* enterFolder(place, name, add, found.name)
      continue
    }
    if (found.isDirectory()) yield* enterFolder(place, found.name, add)
    else if (found.isFile()) addFile(place, found.name, twins, add)
  }
}

/** The item a writer has moved aside and put nothing in the place of: it is under way, or it was killed. */
function asideFor(folder: string, hidden: string, listed: readonly Dirent[]): string | null {
  const beside = standsBeside(hidden)
  if (beside?.isOld !== true) return null
  const names = listed.map(({ name }) => name)
  const isItem = !names.includes(beside.name) && lastAside(folder, beside.name, names) === hidden
  return isItem ? beside.name : null
}

/** The file that makes a folder an item of its own, with everything below it. */
export const FOLDER_MANIFESTS: Readonly<Record<PlaceName, string | null>> = {
  tools: 'tool.yaml',
  directives: 'SKILL.md',
  knowledge: null,
}

function* enterFolder(
  place: Place,
  name: string,
  add: (entry: Entry) => void,
  liesAs = name,
): Generator<void> {
  const { folder, category, depth, notItems } = place
  if (depth >= DEEPEST || notItems.has(name)) return
  const path = join(folder, liesAs)
  const manifest = FOLDER_MANIFESTS[place.place]
  // Whatever it is: reading says what is wrong with one that is no plain file.
  if (manifest !== null && statOf(join(path, manifest))?.isDirectory() === false) {
    const at = { path: join(path, manifest), stem: name, category, place: place.place }
    add({ ...at, kind: 'folder', beside: [], ...folderStamp(path) })
    yield
    return
  }
  yield* scanFolder(
    { ...place, folder: path, category: category === null ? name : `${category}/${name}`, depth: depth + 1 },
    add,
  )
}

type FileKind = 'manifest' | 'script' | 'document'

const KINDS: ReadonlyMap<string, FileKind> = new Map([
  ...['yaml', 'yml', 'json', 'toml'].map((ending) => [ending, 'manifest'] as const),
  ...['py', 'sh', 'js', 'mjs', 'cjs', 'ts'].map((ending) => [ending, 'script'] as const),
  ['md', 'document'],
])
/** Marks of a package and declarations of types: parts of something else. */
const NEVER = /^__\w+__\.py$|\.d\.ts$/

/** What a file of this name can hold, and its name without the ending. */
export function kindOf(name: string): readonly [stem: string, kind: FileKind] | null {
  const dot = name.lastIndexOf('.')
  const kind = dot < 1 ? undefined : KINDS.get(name.slice(dot + 1))
  if (kind === undefined || (kind === 'script' && NEVER.test(name))) return null
  return [name.slice(0, dot), kind]
}

function addFile(
  { folder, category, place, before }: Place,
  name: string,
  twins: Twins,
  add: (entry: Entry) => void,
): void {
  const [stem, kind] = kindOf(name) ?? []
  if (stem === undefined || kind === undefined || (kind !== 'document') !== (place === 'tools')) return
  // The manifest of a folder; at the root there is no folder that would be the item.
  if (name === FOLDER_MANIFESTS[place]) return
  const path = `${folder}/${name}`
  const stat = statOf(path)
  if (stat === null) return
  const known = before.get(path)
  const isAlone = !twins.has(stem)
  if (known !== undefined && isAlone && known.beside.length === 0 && isStill(known, stat)) return add(known)
  const beside = isAlone ? [] : (twins.get(stem) ?? []).filter((other) => kindOf(other)?.[1] !== kind)
  const { mtimeMs: modified, size, ino, mode } = stat
  const stamp = stampOf(stat) + besideStamp({ path, beside })
  add({ path, stem, category, place, kind, beside, stamp, modified, seen: [size, ino, mode] })
}

function isStill({ modified, seen }: Entry, { mtimeMs, size, ino, mode }: Stats): boolean {
  return modified === mtimeMs && seen?.[0] === size && seen[1] === ino && seen[2] === mode
}

/** Stems under which a manifest and a script lie, with the names of all of them. */
type Twins = ReadonlyMap<string, readonly string[]>
const NO_TWINS: Twins = new Map()

export function twinsAmong(listed: readonly Dirent[]): Twins {
  const manifests = new Map<string, string[]>()
  const scripts: (readonly [string, string])[] = []
  for (const { name } of listed) {
    const [stem, kind] = kindOf(name) ?? []
    if (stem === undefined) continue
    if (kind === 'manifest') manifests.set(stem, [...(manifests.get(stem) ?? []), name])
    else if (kind === 'script') scripts.push([stem, name])
  }
  const twins = new Map<string, string[]>()
  for (const [stem, name] of manifests.size === 0 ? [] : scripts) {
    const beside = manifests.get(stem)
    if (beside !== undefined) twins.set(stem, [...(twins.get(stem) ?? beside), name])
  }
  return twins
}

/** The stamp of one path, to see whether it is still what was read; null when it is gone. */
export function stampAt(entry: Pick<Entry, 'path' | 'kind' | 'beside'>): string | null {
  if (entry.kind === 'folder') return folderStamp(dirname(entry.path)).stamp
  const stat = statOf(entry.path)
  return stat === null ? null : stampOf(stat) + besideStamp(entry)
}

function stampOf({ mtimeMs, size, ino, mode }: Stats): string {
  return `${mtimeMs}:${size}:${ino}:${mode}`
}

/** Whether a manifest carries the script beside it is up to both of them. */
function besideStamp({ path, beside }: Pick<Entry, 'path' | 'beside'>): string {
  return beside
    .map((name) => {
      const stat = statOf(join(dirname(path), name))
      return `,${name}=${stat === null ? '' : stampOf(stat)}`
    })
    .join('')
}

/** What cannot be read as an item has its reason for a stamp: no file in it counts until there is an end to them. */
export function folderStamp(folder: string): { stamp: string; modified: number } {
  const parts: string[] = []
  let modified = 0
  try {
    for (const path of folderFiles(folder)) {
      const stat = statOf(join(folder, path))
      if (stat === null) continue
      parts.push(`${path}=${stampOf(stat)}`)
      modified = Math.max(modified, stat.mtimeMs)
    }
  } catch (error) {
    if (mayPass(error) || !(error instanceof KiwiError)) throw error
    return { stamp: error.code, modified }
  }
  return { stamp: sha256(parts.join(',')), modified }
}
