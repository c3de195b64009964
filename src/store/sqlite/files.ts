import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'
import { z } from 'zod'
import { sha256 } from '../../shared/json.ts'
import type { ItemFile } from '../store.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { readRow } from './rows.ts'

/** The files of versions: short text stands in its row, everything else is kept once by its hash. */
export interface Files {
  /** Inside the transaction that inserts the version. */
  insert(versionPk: string, files: readonly EncodedFile[]): void
  read(toolId: string, version: string): readonly ItemFile[]
}

export function createFiles(connection: Connection): Files {
  const insertBlob = connection.prepare(
    'INSERT INTO blobs (key, bytes) VALUES (?, ?) ON CONFLICT (key) DO NOTHING',
  )
  const insertFile = connection.prepare(
    `INSERT INTO tool_version_files (version_pk, path, media_type, sha256, size_bytes, mode, is_entrypoint,
       content_text, storage_key)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const select = connection.prepare(
    `SELECT f.path, f.mode, f.content_text, b.bytes
     FROM tools t
     JOIN tool_versions v ON v.tool_pk = t.id
     JOIN tool_version_files f ON f.version_pk = v.id
     LEFT JOIN blobs b ON b.key = f.storage_key
     WHERE t.namespace = 'public' AND t.tool_id = ? AND v.version = ?
     ORDER BY f.path`,
  )
  return {
    insert(versionPk, files) {
      for (const file of files) {
        if (file.blob !== null) insertBlob.run(file.blob.key, file.blob.bytes)
        insertFile.run(versionPk, ...file.columns)
      }
    },
    read: (toolId, version) => select.all(toolId, version).map((row) => decode(readRow(FileRow, row))),
  }
}

export interface EncodedFile {
  /** From `path` on, in the order of the table. */
  readonly columns: readonly SqlValue[]
  readonly blob: { readonly key: string; readonly bytes: Uint8Array } | null
}

/** Hashes and sorts out the files before the store is locked. */
export function encodeFiles(files: readonly ItemFile[], entrypoint: string | null): readonly EncodedFile[] {
  return files.map(({ path, content, isExecutable }) => {
    const hash = sha256(content)
    const text = textOf(content)
    return {
      columns: [
        path,
        mediaType(path, text !== null),
        hash,
        content.byteLength,
        isExecutable ? EXECUTABLE : PLAIN,
        path === entrypoint,
        text,
        text === null ? hash : null,
      ],
      blob: text === null ? { key: hash, bytes: content } : null,
    }
  })
}

const PLAIN = 0o644
const EXECUTABLE = 0o755
const INLINE_BYTES = 64 * 1024

/** Only what comes back byte for byte: a NUL would end a text in other readers of the database. */
function textOf(content: Uint8Array): string | null {
  if (content.byteLength >= INLINE_BYTES || content.includes(0) || !isUtf8(content)) return null
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8')
}

const FileRow = z.object({
  path: z.string(),
  mode: z.number(),
  content_text: z.string().nullable(),
  bytes: z.instanceof(Uint8Array).nullable(),
})

function decode({ path, mode, content_text, bytes }: z.infer<typeof FileRow>): ItemFile {
  const content = bytes ?? new TextEncoder().encode(content_text ?? '')
  return { path, content, isExecutable: mode === EXECUTABLE }
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.py': 'text/x-python',
  '.sh': 'text/x-shellscript',
  '.toml': 'application/toml',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
}

function mediaType(path: string, isText: boolean): string {
  return MEDIA_TYPES[extname(path).toLowerCase()] ?? (isText ? 'text/plain' : 'application/octet-stream')
}
