import type { Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import { list, mayPass, statOf } from './disk.ts'
import { DEEPEST, folderFiles } from './folder-files.ts'

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

/** Shared libraries, and what seeds of old keep their own primitives in: never items. */
export const NOT_ITEMS: ReadonlySet<string> = new Set(['lib', 'primitives', 'node_modules', '__pycache__'])

/** The two folders of a space that hold items. */
export function typeFolders(root: string): readonly [tools: string, knowledge: string] {
  return [join(root, 'tools'), join(root, 'knowledge')]
}

/** Finds every item below a space's root by names and stats alone; nothing is opened. */
export function scan(
  root: string,
  notItems: ReadonlySet<string> = NOT_ITEMS,
  leaveOut: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  const add = (entry: Entry): void => void found.set(entry.path, entry)
  const [tools] = typeFolders(root)
  for (const folder of typeFolders(root)) {
    if (leaveOut.has(folder)) continue
    scanFolder({ folder, category: null, depth: 0, isTools: folder === tools, notItems }, add)
  }
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
  if (entry.kind === 'folder') return folderStamp(dirname(entry.path)).stamp
  const stat = statOf(entry.path)
  return stat === null ? null : stampOf(stat)
}

function stampOf({ mtimeMs, size, ino, mode }: Stats): string {
  return `${mtimeMs}:${size}:${ino}:${mode}`
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
