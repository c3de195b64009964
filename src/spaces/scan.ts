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
}

/** What the folder an entry lies in is for. */
type PlaceName = 'tools' | 'directives' | 'knowledge'

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

/** Finds every item below a space's root by names and stats alone; nothing is opened. */
export function scan(
  root: string,
  notItems: ReadonlySet<string> = NOT_ITEMS,
  leaveOut: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  const add = (entry: Entry): void => void found.set(entry.path, entry)
  for (const [name, place] of TYPE_FOLDERS) {
    const folder = join(root, name)
    if (leaveOut.has(folder)) continue
    scanFolder(
      { folder, category: null, depth: 0, place, notItems: place === 'tools' ? notItems : new Set() },
      add,
    )
  }
  return found
}

interface Place {
  readonly folder: string
  readonly category: string | null
  readonly depth: number
  readonly place: PlaceName
  readonly notItems: ReadonlySet<string>
}

function scanFolder(place: Place, add: (entry: Entry) => void): void {
  const files: Named[] = []
  const listed = list(place.folder)
  for (const found of listed) {
    if (found.name.startsWith('.')) {
      const name = found.isDirectory() ? asideFor(place.folder, found.name, listed) : null
      if (name !== null) enterFolder(place, name, add, found.name)
      continue
    }
    if (found.isDirectory()) enterFolder(place, found.name, add)
    else if (found.isFile()) nameFile(place, found.name, files)
  }
  const twins = twinsAmong(files)
  for (const file of files) addFile(place, file, twins, add)
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
const FOLDER_MANIFESTS: Readonly<Record<PlaceName, string | null>> = {
  tools: 'tool.yaml',
  directives: 'SKILL.md',
  knowledge: null,
}

function enterFolder(place: Place, name: string, add: (entry: Entry) => void, liesAs = name): void {
  const { folder, category, depth, notItems } = place
  if (depth >= DEEPEST || notItems.has(name)) return
  const path = join(folder, liesAs)
  const manifest = FOLDER_MANIFESTS[place.place]
  // Whatever it is: reading says what is wrong with one that is no plain file.
  if (manifest !== null && statOf(join(path, manifest))?.isDirectory() === false) {
    const at = { path: join(path, manifest), stem: name, category, place: place.place }
    add({ ...at, kind: 'folder', beside: NOTHING, ...folderStamp(path) })
    return
  }
  scanFolder(
    { ...place, folder: path, category: category === null ? name : `${category}/${name}`, depth: depth + 1 },
    add,
  )
}

const NAME = /^(.+)\.(?:(yaml|yml|json|toml)|(py|sh|js|mjs|cjs|ts)|md)$/
/** Marks of a package and declarations of types: parts of something else. */
const NEVER = /^__\w+__\.py$|\.d\.ts$/

interface Named {
  readonly name: string
  readonly stem: string
  readonly kind: 'manifest' | 'script' | 'document'
}

/** Adds a file that is an item by its name. */
function nameFile({ place }: Place, name: string, files: Named[]): void {
  const [, stem, manifest, script] = NAME.exec(name) ?? []
  if (stem === undefined || NEVER.test(name)) return
  const kind = manifest !== undefined ? 'manifest' : script !== undefined ? 'script' : 'document'
  // The manifest of a folder; at the root there is no folder that would be the item.
  if ((kind !== 'document') !== (place === 'tools') || name === FOLDER_MANIFESTS[place]) return
  files.push({ name, stem, kind })
}

function addFile(
  { folder, category, place }: Place,
  { name, stem, kind }: Named,
  twins: Twins,
  add: (entry: Entry) => void,
): void {
  const path = `${folder}/${name}`
  const stat = statOf(path)
  if (stat === null) return
  const beside = twins.get(stem)?.flatMap((twin) => (twin.kind === kind ? [] : [twin.name])) ?? NOTHING
  const stamp = stampOf(stat) + besideStamp(path, beside)
  add({ path, stem, category, place, kind, beside, stamp, modified: stat.mtimeMs })
}

/** Manifests and scripts of one stem in one folder. */
type Twins = ReadonlyMap<string, readonly Named[]>
const NOTHING: readonly string[] = []

function twinsAmong(files: readonly Named[]): Twins {
  const twins = new Map<string, Named[]>()
  const manifests = files.filter(({ kind }) => kind === 'manifest')
  for (const { stem } of manifests.length === files.length ? [] : manifests) twins.set(stem, [])
  if (twins.size > 0) for (const file of files) twins.get(file.stem)?.push(file)
  return twins
}

/** The stamp of one path, to see whether it is still what was read; null when it is gone. */
export function stampAt(entry: Pick<Entry, 'path' | 'kind' | 'beside'>): string | null {
  if (entry.kind === 'folder') return folderStamp(dirname(entry.path)).stamp
  const stat = statOf(entry.path)
  return stat === null ? null : stampOf(stat) + besideStamp(entry.path, entry.beside)
}

function stampOf({ mtimeMs, size, ino, mode }: Stats): string {
  return `${mtimeMs}:${size}:${ino}:${mode}`
}

/** Whether a manifest carries the script beside it is up to both of them. */
function besideStamp(path: string, beside: readonly string[]): string {
  if (beside.length === 0) return ''
  const stats = beside.map((name) => statOf(join(dirname(path), name)))
  return stats.map((stat) => `,${stat === null ? '' : stampOf(stat)}`).join('')
}

/** What cannot be read as an item has its reason for a stamp: no file in it counts until there is an end to them. */
function folderStamp(folder: string): { stamp: string; modified: number } {
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
