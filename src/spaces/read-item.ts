import { basename, dirname, join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import type { ItemFile, SpaceName } from '../store/store.ts'
import { readDirectiveManifest, readKnowledge } from './documents.ts'
import { folderFiles } from './folder-files.ts'
import type { Item } from './item.ts'
import { BODY, contentHash } from './item.ts'
import { readManifest } from './manifest.ts'
import { isServerFile } from './normalise-manifest.ts'
import { parseDocument } from './parse-document.ts'
import { parseToml } from './parse-toml.ts'
import { statOf } from './disk.ts'
import { assertWithin, decodeText, readRegularFile } from './read-file.ts'
import type { Entry } from './scan.ts'
import { stripSignatures } from './signature-line.ts'
import { readScript } from './source/script.ts'
import type { WrittenItem } from './written-item.ts'

/** A file where items lie that is none of them. */
export interface NoItem {
  /** Why not, where somebody may have meant it as one; null for plain data. */
  readonly skipped: string | null
}

/** Reads one item of a file space. Nothing of it is run, and a fault is a typed error that names the file. */
export async function readItem(entry: Entry, space: SpaceName): Promise<Item> {
  return itemOrFault(await readEntry(entry, space), entry)
}

function itemOrFault(read: Item | NoItem, entry: Entry): Item {
  if ('id' in read) return read
  throw new KiwiError(
    'INVALID_MANIFEST',
    read.skipped ?? `Cannot use "${entry.path}": it is a data file, not an item`,
  )
}

/** The item that these bytes would be if they lay in a space. */
export async function readWritten(
  { place, kind, manifest, files }: WrittenItem,
  origin: Pick<Entry, 'stem' | 'category'>,
  space: SpaceName,
): Promise<Item> {
  const entry = { ...origin, path: manifest.path, place, kind, beside: [], stamp: '', modified: 0 }
  const held = new Map([manifest, ...files].map((file) => [file.path, file]))
  const disk: Disk = {
    read(path, limit) {
      const { content, isExecutable } = held.get(path) ?? { content: new Uint8Array(), isExecutable: false }
      assertWithin(content.length, path, limit)
      return { bytes: Buffer.from(content), isExecutable }
    },
    list: () => [...held.keys()],
  }
  return { ...itemOrFault(await readEntry(entry, space, disk), entry), path: null }
}

/** Where bytes are read from. */
interface Disk {
  readonly read: typeof readRegularFile
  /** Paths of the files of a folder. */
  readonly list: (folder: string) => readonly string[]
}

const DISK: Disk = { read: readRegularFile, list: folderFiles }

/** The same for a file that need not be an item. */
export async function readEntry(entry: Entry, space: SpaceName, disk: Disk = DISK): Promise<Item | NoItem> {
  const { raw, text, files, again = () => files, warnings: found = [] } = await readFiles(entry, disk)
  const skipped = entry.kind === 'document' ? undefined : whyNoItem(raw, entry)
  if (skipped !== undefined) return { skipped }
  const { manifest, warnings } = readManifest(raw, { stem: entry.stem, category: entry.category })
  return {
    id: manifest.tool_id,
    space,
    form: entry.kind,
    path: entry.path,
    manifest,
    raw,
    text,
    contentHash: contentHash(raw, files),
    warnings: [
      ...found,
      ...warnings,
      ...(manifest.tool_id === entry.stem
        ? []
        : [`its file is named "${entry.stem}", not "${manifest.tool_id}"`]),
    ],
    isReserved: false,
    updatedAt: new Date(entry.modified).toISOString(),
    filePaths: files.map(({ path }) => path),
    files: async () => again(),
  }
}

interface ReadFiles {
  readonly raw: JsonObject
  readonly text: string | null
  readonly files: readonly ItemFile[]
  /** Reads them anew: those that may be large are not kept in memory. */
  readonly again?: () => readonly ItemFile[]
  readonly warnings?: readonly string[]
}

async function readFiles(entry: Entry, disk: Disk): Promise<ReadFiles> {
  const { path, kind, place } = entry
  if (kind === 'script') return readScriptFile(entry, disk)
  const text = decodeText(disk.read(path, LIMITS.itemBytes).bytes, path)
  if (kind === 'document') return readDocument(text, entry)
  const folder = dirname(path)
  if (kind === 'folder' && place === 'directives') {
    const raw = await readDirectiveManifest(text, entry)
    const again = (): readonly ItemFile[] => readFolder(folder, disk)
    return { raw: { ...raw, _file: basename(path) }, text: null, files: again(), again }
  }
  const raw = await (path.endsWith('.toml') ? parseToml(text, path) : parseDocument(text, path))
  const again = (): readonly ItemFile[] =>
    kind === 'folder'
      ? readFolder(folder, disk).filter((file) => file.path !== basename(path))
      : sidecarOf(raw, entry).map((name) => fileIn(disk, folder, name))
  return { raw, text, files: again(), again }
}

/** The script beside a manifest of the same name, when the manifest names it as what is started. */
function sidecarOf({ config, executor_config }: JsonObject, { beside }: Entry): readonly string[] {
  const given = config ?? executor_config
  return isJsonObject(given) ? beside.filter((name) => name === given['entrypoint']) : []
}

async function readScriptFile({ path, stem }: Entry, disk: Disk): Promise<ReadFiles> {
  const fileName = basename(path)
  const again = (): readonly ItemFile[] => [fileIn(disk, dirname(path), fileName)]
  const files = again()
  const content = files[0]?.content ?? Buffer.alloc(0)
  const head = content.subarray(0, LIMITS.itemBytes)
  const text = decodeText(head, path, head.length === content.length)
  const { raw, warnings } = await readScript({ stem, fileName, path, text })
  return { raw, text: null, files, again, warnings }
}

async function readDocument(text: string, entry: Entry): Promise<ReadFiles> {
  if (entry.place === 'knowledge') {
    const { raw, body } = await readKnowledge(text, entry)
    return { raw, text, files: [contentFile(BODY, body)] }
  }
  const raw = await readDirectiveManifest(text, entry)
  return { raw, text, files: [contentFile('directive.md', stripSignatures(text, entry.path))] }
}

/** Types of another system for which Kiwi has no use: its code, never run here. */
const FOREIGN_TYPES = new Set(['extractor', 'parser', 'sink'])

/** Undefined for an item. Without a type a file is data; one with an id or an executor was meant to be more. */
function whyNoItem(raw: JsonObject, { path, stem, category }: Entry): string | null | undefined {
  const type = textOf(raw['tool_type'])
  if (FOREIGN_TYPES.has(type))
    return `Cannot use "${path}": a ${type} of another system is kept as data, never run`
  const isMeant = ['tool_type', 'tool_id', 'executor', 'executor_id'].some((key) => raw[key] !== undefined)
  return isMeant || isServerFile({ stem, category }, raw['config']) ? undefined : null
}

function contentFile(path: string, body: string): ItemFile {
  return { path, content: Buffer.from(body), isExecutable: false }
}

/** Everything in the folder of an item, its manifest too. */
export function readFolder(folder: string, disk: Disk = DISK): readonly ItemFile[] {
  let left: number = LIMITS.bundleBytes + LIMITS.itemBytes
  const paths = disk.list(folder)
  assertSizes(folder, paths, left)
  return paths.map((path) => {
    const file = fileIn(disk, folder, path, left)
    left -= file.content.length
    return file
  })
}

/** Before the first is read: what is too much in all takes no memory. */
export function assertSizes(folder: string, paths: readonly string[], limit: number): void {
  const bytes = paths.reduce((sum, path) => sum + (statOf(join(folder, path))?.size ?? 0), 0)
  assertWithin(bytes, folder, limit)
}

function fileIn(disk: Disk, folder: string, path: string, limit: number = LIMITS.bundleBytes): ItemFile {
  const { bytes, isExecutable } = disk.read(join(folder, path), limit)
  return { path, content: bytes, isExecutable }
}
