import type { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { ItemFile, SpaceName } from '../store/store.ts'
import type { Manifest } from './manifest.ts'

/** Anything with an id, as it was found in a space. */
export interface Item {
  readonly id: ItemName
  readonly space: SpaceName
  readonly form: ItemForm
  /** The manifest, script or document on disk; null in the store. */
  readonly path: string | null
  readonly manifest: Manifest
  /** The manifest as its author wrote it, and the text it was read from. */
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

/** A manifest by itself, a folder with one, a markdown document, a single script, or a row of the store. */
export type ItemForm = 'manifest' | 'folder' | 'document' | 'script' | 'row'

/** The file that holds the text of a piece of knowledge. */
export const BODY = 'content.md'

/** Hash of what an item is: its manifest as data, and path, mode and bytes of its files. Comments and key order do not count. */
export function contentHash(raw: JsonObject, files: readonly ItemFile[]): string {
  const listed = files
    .map(({ path, isExecutable, content }) => [path, isExecutable ? '755' : '644', sha256(content)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return sha256(canonicalJson({ manifest: raw, files: listed }))
}

/** The file that is started: what the config names, else `main.*`, else the only file there is. */
export function entrypointOf(manifest: Manifest, paths: readonly string[]): string | null {
  const { entrypoint } = manifest.config
  if (typeof entrypoint === 'string') return entrypoint
  return paths.find((path) => /^main\.[a-z]+$/.test(path)) ?? (paths.length === 1 ? (paths[0] ?? null) : null)
}
