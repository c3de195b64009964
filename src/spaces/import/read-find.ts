import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { KiwiError, messageOf } from '../../shared/errors.ts'
import { canonicalJson, sha256 } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { itemTypeOf } from '../../shared/tool-type.ts'
import type { ItemFile } from '../../store/store.ts'
import { checkBundle } from '../bundle.ts'
import { mayPass } from '../disk.ts'
import { folderFiles } from '../folder-files.ts'
import type { Item } from '../item.ts'
import { readRegularFile } from '../read-file.ts'
import { assertSizes, readEntry } from '../read-item.ts'
import type { Entry } from '../scan.ts'
import type { Find } from './collect-items.ts'

/** Something that was found, as far as it could be read. */
export interface ReadFind {
  readonly id: string
  /** What kind of item it is; a library, or a file that another item carries, is none. */
  readonly type: 'tool' | 'directive' | 'knowledge' | 'mcp' | 'library'
  /** Over its bytes as they lie there. */
  readonly hash: string
  /** Over what it is: equal for two that differ in signature lines or layout alone. Null when it cannot be read. */
  readonly contentHash: string | null
  /** Why it is no item yet. */
  readonly fault: string | null
  readonly item: Item | null
  /** What stays behind of a folder. */
  readonly warnings: readonly string[]
}

/** Reads a find. Nothing of it is run. `skipped` says why it is not to be imported at all. */
export async function readFind(find: Find): Promise<ReadFind | { readonly skipped: string }> {
  const { entry, from } = find
  try {
    const files = readFiles(from, entry?.kind === 'folder')
    const hash = hashOf(files)
    if (entry === null) {
      const id = find.to.replace(/^tools\//, '')
      return { id, type: 'library', hash, contentHash: hash, fault: null, item: null, warnings: [] }
    }
    if (entry.kind === 'folder') checkFolder(entry, files)
    const warnings = entry.kind === 'folder' ? linksIn(from) : []
    const read = await readEntry(entry, 'user').catch((error: unknown) => {
      if (mayPass(error)) throw error
      return messageOf(error)
    })
    if (typeof read === 'string') {
      const type = TYPES[entry.place]
      return { id: entry.stem, type, hash, contentHash: null, fault: read, item: null, warnings }
    }
    if (!('id' in read))
      return { skipped: read.skipped ?? 'a data file: it does not say what type of tool it is' }
    const { id, manifest, contentHash } = read
    const fault = manifest.tool_type === 'primitive' ? 'primitives are code, and part of Kiwi' : null
    return { id, type: itemTypeOf(manifest.tool_type), hash, contentHash, fault, item: read, warnings }
  } catch (error) {
    if (error instanceof KiwiError && !mayPass(error)) return { skipped: error.message }
    throw error
  }
}

/** Before anything is promised: what could not be written, or not be read again, is not imported. */
function checkFolder({ path, stem }: Entry, files: readonly ItemFile[]): void {
  const manifest = basename(path)
  const others = files.filter((file) => file.path !== manifest)
  if (others.length === files.length)
    throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": it is not a regular file`)
  checkBundle(stem, others)
}

/** What a file would be that cannot be read. */
export const TYPES = { tools: 'tool', directives: 'directive', knowledge: 'knowledge' } as const

/** The files of an item as they are written: one, or all of a folder. */
export function readFiles(from: string, isFolder: boolean): readonly ItemFile[] {
  let left: number = LIMITS.bundleBytes
  const read = (path: string, at: string): ItemFile => {
    const { bytes, isExecutable } = readRegularFile(at, left)
    left -= bytes.length
    return { path, content: bytes, isExecutable }
  }
  if (!isFolder) return [read(basename(from), from)]
  const paths = folderFiles(from)
  assertSizes(from, paths, left)
  return paths.map((path) => read(path, join(from, path)))
}

/** What they are, whatever the folder or file is called. */
export function hashOf(files: readonly ItemFile[]): string {
  const [only, another] = files
  if (only !== undefined && another === undefined)
    return sha256(canonicalJson([only.isExecutable, sha256(only.content)]))
  const listed = files.map(
    ({ path, isExecutable, content }) => [path, isExecutable, sha256(content)] as const,
  )
  return sha256(canonicalJson(listed.toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** Links inside a folder are left out, and that is said. */
function linksIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isFile() && !entry.isDirectory())
    .map(
      (entry) =>
        `"${join(entry.parentPath, entry.name).slice(folder.length + 1)}" is no plain file: left out`,
    )
}
