import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Lock } from './vault-keys.ts'
import { KEY_KINDS, closed } from './vault-keys.ts'

/** The file of a vault as it lies on the disk: how it is locked is open to read, what is in it is not. */
export interface Sealed {
  readonly lock: Lock
  readonly nonce: Buffer
  readonly data: Buffer
}

const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/)
const VaultFile = z.strictObject({
  kiwi_vault: z.literal(1),
  key: z.enum(KEY_KINDS),
  salt: base64,
  nonce: base64,
  data: base64,
})

const CIPHER = 'aes-256-gcm'
const TAG_BYTES = 16

/** Every writing has a nonce of its own. */
export function seal(text: string, key: Buffer, lock: Lock): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(headOf(lock))
  const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  const [shownNonce, shownData] = [nonce, data].map((bytes) => bytes.toString('base64'))
  return `${JSON.stringify({ kiwi_vault: 1, key: lock.kind, salt: lock.salt, nonce: shownNonce, data: shownData })}\n`
}

export function readSealed(text: string, path: string): Sealed {
  let given: unknown = null
  try {
    given = JSON.parse(text)
  } catch {
    // Said below.
  }
  const file = VaultFile.safeParse(given)
  if (!file.success) throw closed(`"${path}" is no vault of this version of Kiwi, or is damaged`, KEEP_HINT)
  const { key, salt, nonce, data } = file.data
  return {
    lock: { kind: key, salt },
    nonce: Buffer.from(nonce, 'base64'),
    data: Buffer.from(data, 'base64'),
  }
}

/** One changed byte, another key or another head: nothing comes out. */
export function unseal({ lock, nonce, data }: Sealed, key: Buffer, path: string): string {
  try {
    const opened = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(headOf(lock))
      .setAuthTag(data.subarray(-TAG_BYTES))
    return Buffer.concat([opened.update(data.subarray(0, -TAG_BYTES)), opened.final()]).toString('utf8')
  } catch (error) {
    const reason =
      lock.kind === 'passphrase'
        ? `the passphrase is another one, or "${path}" is damaged`
        : `its key does not fit, or "${path}" is damaged`
    throw closed(reason, KEEP_HINT, error)
  }
}

const KEEP_HINT =
  'Nothing was changed. Put the file back from a copy, or move it away and set the secrets again: kiwi secret set'

function headOf({ kind, salt }: Lock): Buffer {
  return Buffer.from(`kiwi vault 1 ${kind} ${salt}`)
}
