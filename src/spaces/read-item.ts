import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import type { ItemFile } from '../store/store.ts'
import { unreadable } from './disk.ts'
import { folderFiles } from './folder-files.ts'
import type { Item } from './item.ts'
import { BODY, contentHash } from './item.ts'
import { readManifest } from './manifest.ts'
import { parseDocument } from './parse-document.ts'
import type { Entry } from './scan.ts'

/** Reads one item of a file space. Nothing of it is run, and a fault is a typed error that names the file. */
export async function readItem(entry: Entry, space: 'project' | 'user' | 'builtin'): Promise<Item> {
  const text = decode(readRegularFile(entry.path, LIMITS.itemBytes), entry.path)
  const { raw, body } =
    entry.kind === 'document' ? await readKnowledge(text, entry) : await readRaw(text, entry)
  const { manifest, warnings } = readManifest(raw, { stem: entry.stem, category: entry.category })
  const files =
    entry.kind === 'folder' ? readFolder(dirname(entry.path)) : body === null ? [] : [contentFile(body)]
  return {
    id: manifest.tool_id,
    space,
    path: entry.path,
    manifest,
    raw,
    text,
    contentHash: contentHash(raw, files),
    warnings:
      manifest.tool_id === entry.stem
        ? warnings
        : [...warnings, `its file is named "${entry.stem}", not "${manifest.tool_id}"`],
    isReserved: false,
    updatedAt: new Date(entry.modified).toISOString(),
    filePaths: files.map(({ path }) => path),
    files: async () => (entry.kind === 'folder' ? readFolder(dirname(entry.path)) : files),
  }
}

interface Read {
  readonly raw: JsonObject
  /** The text below the front matter of a document. */
  readonly body: string | null
}

async function readRaw(text: string, entry: Entry): Promise<Read> {
  return { raw: await parseDocument(text, entry.path), body: null }
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([^]*?)\r?\n)??---[ \t]*(?:\r?\n([^]*))?$/

/** A markdown file: front matter is its manifest, the rest its content. */
async function readKnowledge(text: string, entry: Entry): Promise<Read> {
  const matter = FRONT_MATTER.exec(text)
  const [, front = '', rest = ''] = matter ?? []
  const isEmpty = front.split('\n').every((line) => /^\s*(?:#|$)/.test(line))
  // The line in front makes the lines of a fault those of the file.
  const given = isEmpty ? {} : await parseDocument(`\n${front}`, entry.path)
  const body = matter === null ? text : rest
  const { entry_type = 'learning', source_type = null, source_url = null, id, title, ...kept } = given
  const config: JsonObject = {
    entry_type,
    ...(source_type === null ? {} : { source_type }),
    ...(source_url === null ? {} : { source_url }),
  }
  const heading = /^\uFEFF?#\s+(.+)$/m.exec(body)?.[1]
  const name = textOf(title ?? heading ?? entry.stem)
  return {
    raw: {
      tool_id: id ?? entry.stem,
      name,
      description: name,
      config,
      ...kept,
      tool_type: 'knowledge',
      executor: null,
    },
    body,
  }
}

function contentFile(body: string): ItemFile {
  return { path: BODY, content: Buffer.from(body), isExecutable: false }
}

/** Everything in the folder of a `tool.yaml` but the manifest itself. */
export function readFolder(folder: string): ItemFile[] {
  let bytes = 0
  return folderFiles(folder)
    .filter((path) => path !== 'tool.yaml')
    .map((path) => {
      const file = readRegularFile(join(folder, path), LIMITS.bundleBytes - bytes)
      bytes += file.bytes.length
      return { path, content: file.bytes, isExecutable: file.isExecutable }
    })
}

/** Links are not followed and the size is known before a byte is read, so no pipe, device or giant can hold us up. */
function readRegularFile(path: string, limit: number): { bytes: Buffer; isExecutable: boolean } {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      return readOpenFile(file, path, limit)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw error instanceof KiwiError ? error : unreadable(path, error)
  }
}

function readOpenFile(file: number, path: string, limit: number): { bytes: Buffer; isExecutable: boolean } {
  const stat = fstatSync(file)
  if (!stat.isFile()) throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": it is not a regular file`)
  if (stat.size > limit) {
    throw new KiwiError('MESSAGE_TOO_LARGE', `Cannot read "${path}": it is larger than ${limit} bytes`)
  }
  return { bytes: readFileSync(file), isExecutable: (stat.mode & 0o100) !== 0 }
}

/** A BOM stays in the text: what is written back is what was read. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode({ bytes }: { bytes: Buffer }, path: string): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": it is not valid UTF-8`)
  }
}
