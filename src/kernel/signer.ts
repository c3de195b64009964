import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { commentStyle, unsignedText, withSignature } from '../spaces/signature-line.ts'
import { signedFileName, signedTextOf, withSignedText } from '../spaces/signed-text.ts'
import type { OwnKey } from '../spaces/signing-key.ts'
import type { SignedBy } from '../spaces/statement.ts'
import { statementOf } from '../spaces/statement.ts'
import type { ItemFile } from '../store/store.ts'

interface Signed {
  /** The item's text with its signature lines in place; null where one of the files carries them, or nothing can. */
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
      const given = signedTextOf(item, files)
      const fileName = signedFileName(item) ?? 'tool.yaml'
      const comment = commentStyle(fileName)
      if (given === null || comment === null) return { text: item.text, files, warnings: [] }
      const text = unsignedText(given, fileName)
      const bare: Item =
        item.text === null
          ? { ...item, files: async () => withSignedText(item, files, text) }
          : { ...item, text, files: async () => files }
      const [time, hash] = [now(), sha256(text)]
      const lines = [comment(`kiwi-mcp:validated:${time}:${hash}`)]
      const warnings: string[] = []
      try {
        const { signature, fingerprint } = await stampAt(time, bare, chain, by)
        lines.push(comment(`kiwi-mcp:signed:${time}:${hash}:${signature}:${fingerprint}`))
      } catch (error) {
        if (!(error instanceof KiwiError)) throw error
        warnings.push(`"${item.id}" is not signed with your key: ${error.message}`)
      }
      const signed = withSignature(text, lines, fileName)
      return item.text === null
        ? { text: null, files: withSignedText(item, files, signed), warnings }
        : { text: signed, files, warnings }
    },
  }
}
