import { canonicalJson, sha256 } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import type { Item } from './item.ts'
import { textBelowSignature } from './signature-line.ts'
import { signedFileName, signedTextOf } from './signed-text.ts'
import { documentFile } from './written-item.ts'

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

/**
 * What a key signs: all that decides what runs, and not where it lies, so that a copy stays signed. A text is
 * taken as it is written: how it is read may change with Kiwi, and what was signed must not.
 */
export function statementOf({ item, files, executors, by, created }: Signed): string {
  const { id, manifest, raw } = item
  const signed = signedTextOf(item, files)
  const text = signed === null ? null : textBelowSignature(signed, signedFileName(item))
  const within = item.text === null ? raw['_file'] : documentFile(item, files)
  return canonicalJson({
    type: manifest.tool_type,
    id,
    version: manifest.version,
    by,
    created,
    manifest: sha256(text ?? canonicalJson(raw)),
    files: files
      // The script or document that is its own manifest, and the body of a document, are in the text already.
      .filter(({ path }) => text === null || path !== within)
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
