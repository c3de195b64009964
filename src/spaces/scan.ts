import type { Dirent, Stats } from 'node:fs'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../shared/json.ts'

/** One place in a space where an item can be read. */
export interface Entry {
  readonly path: string
  readonly stem: string
  /** Folders between the type folder and the file; null at its root. */
  readonly category: string | null
  /** A manifest by itself, a folder with `tool.yaml`, or a markdown document. */
  readonly kind: 'manifest' | 'folder' | 'document'
  /** Changes when a file of the item does. */
  readonly stamp: string
  readonly modified: number
}

/** Folders inside each other that are looked into. */
export const DEEPEST = 16
/** Shared libraries, and what seeds of old keep their own primitives in: never items. */
export const NOT_ITEMS: ReadonlySet<string> = new Set(['lib', 'primitives', 'node_modules', '__pycache__'])

/** Finds every item below a space's root by names and stats alone; nothing is opened. */
export function scan(root: string, notItems: ReadonlySet<string> = NOT_ITEMS): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  const add = (entry: Entry): void => void found.set(entry.path, entry)
  scanFolder({ folder: join(root, 'tools'), category: null, depth: 0, isTools: true, notItems }, add)
  scanFolder({ folder: join(root, 'knowledge'), category: null, depth: 0, isTools: false, notItems }, add)
  return found
}

interface Place {
  readonly folder: string
  readonly category: string | null
  readonly depth: number
  readonly isTools: boolean
  readonly notItems: ReadonlySet<string>
}

function scanFolder(place: Place, add: (entry: Entry) => void): void {
  for (const found of list(place.folder)) {
    if (found.name.startsWith('.')) continue
    if (found.isDirectory()) enterFolder(place, found.name, add)
    else if (found.isFile()) addFile(place, found.name, add)
  }
}

function enterFolder(place: Place, name: string, add: (entry: Entry) => void): void {
  const { folder, category, depth, isTools, notItems } = place
  if (depth >= DEEPEST || (isTools && notItems.has(name))) return
  const path = join(folder, name)
  // Whatever it is: reading says what is wrong with one that is no plain file.
  if (isTools && statOf(join(path, 'tool.yaml'))?.isDirectory() === false) {
    add({ path: join(path, 'tool.yaml'), stem: name, category, kind: 'folder', ...folderStamp(path) })
    return
  }
  scanFolder(
    { ...place, folder: path, category: category === null ? name : `${category}/${name}`, depth: depth + 1 },
    add,
  )
}

function addFile({ folder, category, isTools }: Place, name: string, add: (entry: Entry) => void): void {
  const [, stem, ending] = /^(.+)\.(yaml|yml|json|md)$/.exec(name) ?? []
  if (stem === undefined || (ending === 'md') === isTools) return
  // The manifest of a folder; at the root there is no folder that would be the item.
  if (isTools && name === 'tool.yaml') return
  const path = join(folder, name)
  const stat = statOf(path)
  if (stat === null) return
  add({
    path,
    stem,
    category,
    kind: isTools ? 'manifest' : 'document',
    stamp: stampOf(stat),
    modified: stat.mtimeMs,
  })
}

/** The stamp of one path, to see whether it is still what was read; null when it is gone. */
export function stampAt(entry: Pick<Entry, 'path' | 'kind'>): string | null {
  if (entry.kind === 'folder') return folderStamp(join(entry.path, '..')).stamp
  const stat = statOf(entry.path)
  return stat === null ? null : stampOf(stat)
}

function stampOf({ mtimeMs, size, ino, mode }: Stats): string {
  return `${mtimeMs}:${size}:${ino}:${mode}`
}

function folderStamp(folder: string): { stamp: string; modified: number } {
  const parts: string[] = []
  let modified = 0
  const walk = (relative: string, depth: number): void => {
    for (const entry of list(join(folder, relative))) {
      const path = join(relative, entry.name)
      if (entry.isDirectory() && depth < DEEPEST) walk(path, depth + 1)
      const stat = entry.isFile() ? statOf(join(folder, path)) : null
      if (stat === null) continue
      parts.push(`${path}=${stampOf(stat)}`)
      modified = Math.max(modified, stat.mtimeMs)
    }
  }
  walk('', 0)
  return { stamp: sha256(parts.join(',')), modified }
}

/** A folder that is missing or closed to us holds nothing. */
function list(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Of the thing itself, not of what it links to. What cannot be looked at is not there for us. */
function statOf(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch {
    return null
  }
}
