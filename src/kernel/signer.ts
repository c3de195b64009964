import { basename } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { commentStyle, unsignedText, withSignature } from '../spaces/signature-line.ts'
import type { OwnKey } from '../spaces/signing-key.ts'
import type { SignedBy } from '../spaces/statement.ts'
import { statementOf } from '../spaces/statement.ts'
import type { ItemFile } from '../store/store.ts'

interface Signed {
  /** The item's text with its signature lines in place; null when it has none to carry them. */
  readonly text: string | null
  readonly files: readonly ItemFile[]
  readonly warnings: readonly string[]
}

/** A signature by itself, for what has no lines. */
interface Stamp {
  readonly time: string
  readonly signature: string
  readonly fingerprint: string
}

/** Signs with the person's own key, which is made at first use. */
export interface Signer {
  /** `chain` holds the ids of the executors below the item. Without a key the text only says that it is whole. */
  sign(item: Item, chain: readonly string[], by: SignedBy): Promise<Signed>
  /** STORE_UNAVAILABLE when there is no key to be had. */
  stamp(item: Item, chain: readonly string[], by: SignedBy): Promise<Stamp>
}

export function openSigner(ownKey: OwnKey, clock: Clock): Signer {
  const stampAt = async (
    created: string,
    item: Item,
    executors: readonly string[],
    by: SignedBy,
  ): Promise<Stamp> => {
    const key = await ownKey.readOrMake()
    const statement = statementOf({ item, files: await item.files(), executors, by, created })
    return { time: created, signature: key.sign(statement), fingerprint: key.fingerprint }
  }
  const now = (): string => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    stamp: (item, chain, by) => stampAt(now(), item, chain, by),
    async sign(item, chain, by) {
      const files = await item.files()
      const comment = commentStyle(fileNameOf(item))
      if (item.text === null || comment === null) return { text: item.text, files, warnings: [] }
      const text = unsignedText(item.text)
      const [time, hash] = [now(), sha256(text)]
      const validated = comment(`kiwi-mcp:validated:${time}:${hash}`)
      try {
        const { signature, fingerprint } = await stampAt(time, item, chain, by)
        const signed = comment(`kiwi-mcp:signed:${time}:${hash}:${signature}:${fingerprint}`)
        return { text: withSignature(text, [validated, signed]), files, warnings: [] }
      } catch (error) {
        if (!(error instanceof KiwiError)) throw error
        const warnings = [`"${item.id}" is not signed with your key: ${error.message}`]
        return { text: withSignature(text, [validated]), files, warnings }
      }
    },
  }
}

/** The name of the file the text is or will be in: it decides how a comment is written. */
function fileNameOf({ path, manifest: { tool_type } }: Item): string {
  if (path !== null) return basename(path)
  return tool_type === 'knowledge' ? 'content.md' : 'tool.yaml'
}
