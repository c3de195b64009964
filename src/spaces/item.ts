import type { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { ItemFile, SpaceName } from '../store/store.ts'
import type { Manifest } from './manifest.ts'
import { stripSignatures, withoutForeignMarks } from './signature-line.ts'

/** Anything with an id, as it was found in a space. */
export interface Item {
  readonly id: ItemName
  readonly space: SpaceName
  readonly form: ItemForm
  /** The manifest, script or document on disk; null in the store. */
  readonly path: string | null
  readonly manifest: Manifest
  /**
   * The manifest as its author wrote it, and the text it was read from. With `_file` it was read from that file of the
   * item, a script or a `SKILL.md`: then there is no other text, and signature lines stand in that file.
   */
  readonly raw: JsonObject
  readonly text: string | null
  readonly contentHash: string
  readonly warnings: readonly string[]
  /** Shipped with Kiwi, so no other space may take its id. */
  readonly isReserved: boolean
  readonly updatedAt: string
  readonly filePaths: readonly string[]
  /** Read when asked: most calls need no file. */
  readonly files: () => Promise<readonly ItemFile[]>
}

/** A manifest by itself, a folder with one, a markdown document, a single script, an entry of a file that lists servers, or a row of the store. */
type ItemForm = 'manifest' | 'folder' | 'document' | 'script' | 'entry' | 'row'

/** The file that holds the text of a piece of knowledge. */
export const BODY = 'content.md'

/**
 * Hash of what an item is: its manifest as data, and path, mode and bytes of its files. Comments and key order do not
 * count, nor do signature lines.
 */
export function contentHash(raw: JsonObject, files: readonly ItemFile[]): string {
  const listed = files
    .map(({ path, isExecutable, content }) => {
      const signed = path === raw['_file'] ? unsignedBytes(content, path) : content
      return [path, isExecutable ? '755' : '644', sha256(signed)] as const
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return sha256(canonicalJson({ manifest: raw, files: listed }))
}

/** Bytes in which signature lines are looked for; a shebang and several of them take a tenth of it. */
const TOP = 16 * 1024
const BOM = Buffer.from('\uFEFF')

/** The files as they are run: what signed a script in the manner of another language would be no line of it. */
export function runnableFiles(raw: JsonObject, files: readonly ItemFile[]): readonly ItemFile[] {
  return files.map((file) => {
    if (file.path !== raw['_file']) return file
    return { ...file, content: withTop(file.content, (top) => withoutForeignMarks(top, file.path)) }
  })
}

/** The bytes of a file without the signature lines at its top. */
function unsignedBytes(content: Uint8Array, path: string): Uint8Array {
  return withTop(content, (top) => stripSignatures(top, path))
}

/** Only whole lines are looked at: the rest of one could be code. */
function withTop(content: Uint8Array, change: (top: string) => string): Uint8Array {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const from = bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
  const end = bytes.length <= TOP ? bytes.length : bytes.lastIndexOf('\n', TOP) + 1
  // One character for one byte, whatever the bytes are.
  const top = bytes.subarray(from, Math.max(from, end)).toString('latin1')
  const changed = change(top)
  if (changed.length === top.length) return bytes
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(changed, 'latin1'), bytes.subarray(end)])
}

/** The file that is started: what the config names, else `main.*`, else the only file there is. */
export function entrypointOf(manifest: Manifest, paths: readonly string[]): string | null {
  const { entrypoint } = manifest.config
  if (typeof entrypoint === 'string') return entrypoint
  return paths.find((path) => /^main\.[a-z]+$/.test(path)) ?? (paths.length === 1 ? (paths[0] ?? null) : null)
}
