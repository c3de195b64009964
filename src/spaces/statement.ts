import { canonicalJson, sha256 } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import type { Item } from './item.ts'

/** Who asked for a signature: what an agent had signed is no person's word. */
export type SignedBy = 'person' | 'agent'

interface Signed {
  readonly item: Item
  readonly files: readonly ItemFile[]
  /** Ids of the executors below it, down to the primitive. */
  readonly executors: readonly string[]
  readonly by: SignedBy
  readonly created: string
}

/** What a key signs: all that decides what runs, and not where it lies, so that a copy stays signed. */
export function statementOf({ item, files, executors, by, created }: Signed): string {
  const { id, manifest, raw } = item
  // Knowledge of old kept a signature here; it goes when the item is signed anew.
  const { validated_at: _time, content_hash: _hash, ...declared } = raw
  return canonicalJson({
    type: manifest.tool_type,
    id,
    version: manifest.version,
    by,
    created,
    manifest: sha256(canonicalJson(declared)),
    files: files
      .map(({ path, isExecutable, content }) => ({
        path,
        mode: isExecutable ? '755' : '644',
        size: content.length,
        sha256: sha256(content),
      }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    chain: executors,
  })
}
