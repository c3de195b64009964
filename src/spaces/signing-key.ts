import type { KeyObject } from 'node:crypto'
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign as signWith,
  verify as verifyWith,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import { makeFolder } from '../shared/make-folder.ts'

/** One key whose signatures can be checked. */
export interface PublicKey {
  /** The first 16 hex digits of the hash of its 32 bytes. */
  readonly fingerprint: string
  verify(statement: string, signature: string): boolean
}

interface SigningKey extends PublicKey {
  sign(statement: string): string
}

/** The person's own key. It never leaves its file but for this process. */
export interface OwnKey {
  /** Null: none was made yet. */
  read(): SigningKey | null
  /** Made at first use. */
  readOrMake(): Promise<SigningKey>
}

export interface KeyPlaces {
  readonly key: string
  readonly publicKey: string
}

export function openOwnKey({ key: path, publicKey }: KeyPlaces): OwnKey {
  let known: SigningKey | null = null
  const read = (): SigningKey | null => (known ??= readKey(path))
  return {
    read,
    async readOrMake() {
      const there = read()
      if (there !== null) return there
      try {
        await placeKey(path, publicKey)
      } catch (error) {
        throw unusable('make', path, error)
      }
      const made = read()
      if (made === null) throw unusable('read', path, new Error('it is gone'))
      return made
    },
  }
}

/** A key as it is handed out: its 32 bytes, or the form other programs write. */
export function readPublicKey(base64: string): PublicKey {
  const bytes = Buffer.from(base64, 'base64')
  const key =
    bytes.length === 32
      ? createPublicKey({
          key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
          format: 'jwk',
        })
      : createPublicKey({ key: bytes, format: 'der', type: 'spki' })
  return publicPart(key)
}

function publicPart(key: KeyObject): PublicKey {
  const { x = '' } = key.export({ format: 'jwk' })
  return {
    fingerprint: sha256(Buffer.from(x, 'base64url')).slice(0, 16),
    verify: (statement, signature) =>
      verifyWith(null, Buffer.from(statement), key, Buffer.from(signature, 'base64url')),
  }
}

function readKey(path: string): SigningKey | null {
  try {
    const key = createPrivateKey(readFileSync(path))
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('it is no Ed25519 key')
    return {
      ...publicPart(createPublicKey(key)),
      sign: (statement) => signWith(null, Buffer.from(statement), key).toString('base64url'),
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return null
    throw unusable('read', path, error)
  }
}

/** Whole or not at all, and the first of two processes wins: there is one key. */
async function placeKey(path: string, publicPath: string): Promise<void> {
  makeFolder(dirname(path), 0o700)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const isPlaced = await place(path, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), 0o600)
  if (isPlaced) await place(publicPath, publicKey.export({ format: 'pem', type: 'spki' }).toString(), 0o644)
}

async function place(path: string, text: string, mode: number): Promise<boolean> {
  const beside = `${path}.${randomBytes(8).toString('hex')}`
  try {
    await writeFile(beside, text, { mode, flag: 'wx', flush: true })
    await link(beside, path)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    return false
  } finally {
    await rm(beside, { force: true })
  }
}

function unusable(verb: string, path: string, cause: unknown): KiwiError {
  return new KiwiError('STORE_UNAVAILABLE', `Cannot ${verb} the key in "${path}": ${messageOf(cause)}`, {
    hint: 'Make the folder writable and the file a key of your own, or remove it: a new one is made',
    cause,
  })
}
