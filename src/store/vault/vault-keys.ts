import { hkdfSync, randomBytes, scrypt } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { KiwiError, errnoOf, messageOf } from '../../shared/errors.ts'
import type { Keychain } from './keychain.ts'

/** Where the key of a vault is: with the system, in a person's head, or in a file beside it. */
export const KEY_KINDS = ['keychain', 'passphrase', 'file'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

/** What a vault is locked with; the salt is the vault's own. */
export interface Lock {
  readonly kind: KeyKind
  readonly salt: string
}

export interface VaultKeys {
  /** The key of a vault that is there. */
  open(lock: Lock): Promise<Buffer>
  /** A lock for a new vault, and its key. */
  make(): Promise<{ readonly lock: Lock; readonly key: Buffer }>
  /** Takes back what was made for a vault that nobody needs. */
  drop(lock: Lock): Promise<void>
}

interface KeyMeans {
  readonly keyFile: string
  readonly passphrase: string | null
  readonly keychain: Keychain
}

/** A passphrase that a person gave counts first, then the system's keychain, then a file. */
export function openVaultKeys({ keyFile, passphrase, keychain }: KeyMeans): VaultKeys {
  let known: { readonly salt: string; readonly key: Promise<Buffer> } | null = null
  const secretOf = async ({ kind, salt }: Lock): Promise<Buffer | string> => {
    switch (kind) {
      case 'passphrase':
        if (passphrase === null) throw closed('it was locked with a passphrase', PASSPHRASE_HINT)
        return passphrase
      case 'keychain':
        return fromKeychain(keychain, salt)
      case 'file':
        return readKeyFile(keyFile)
    }
  }
  const open = (lock: Lock): Promise<Buffer> => {
    if (known?.salt === lock.salt) return known.key
    const key = secretOf(lock).then((secret) => derive(secret, lock))
    known = { salt: lock.salt, key }
    // What failed once may be put right.
    key.catch(() => (known = null))
    return key
  }
  const lockFor = async (salt: string): Promise<Lock> => {
    if (passphrase !== null) return { kind: 'passphrase', salt }
    const secret = randomBytes(32).toString('base64')
    try {
      await keychain.set(salt, secret)
      if ((await keychain.get(salt)) === secret) return { kind: 'keychain', salt }
    } catch {
      // There is none that can be used.
    }
    placeKeyFile(keyFile, secret)
    return { kind: 'file', salt }
  }
  return {
    open,
    async make() {
      const lock = await lockFor(randomBytes(16).toString('base64'))
      return { lock, key: await open(lock) }
    },
    async drop({ kind, salt }) {
      if (kind === 'keychain') await keychain.remove(salt).catch(() => undefined)
    },
  }
}

const PASSPHRASE_HINT = 'Set KIWI_VAULT_PASSPHRASE where Kiwi is started'
const scryptAsync = promisify<string, string, number, object, Buffer>(scrypt)
const KEY_BYTES = 32
/** 64 MB for each guess; a process that uses the vault pays it once. */
const COST = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 * 1024 }

async function derive(secret: Buffer | string, { salt }: Lock): Promise<Buffer> {
  if (typeof secret === 'string') return scryptAsync(secret, salt, KEY_BYTES, COST)
  return Buffer.from(hkdfSync('sha256', secret, salt, 'kiwi vault', KEY_BYTES))
}

async function fromKeychain(keychain: Keychain, salt: string): Promise<Buffer> {
  let text: string | null
  try {
    text = await keychain.get(salt)
  } catch (error) {
    const hint = 'Unlock the keychain, or start Kiwi in the session of the person it belongs to'
    throw closed(`its key is in the keychain of the system: ${messageOf(error)}`, hint, error)
  }
  if (text === null) throw closed('its key is no longer in the keychain of the system', LOST_HINT)
  return Buffer.from(text, 'base64')
}

const LOST_HINT = 'Put the key back from a copy, or move kiwi.vault away and set the secrets again'

function readKeyFile(path: string): Buffer {
  try {
    const key = Buffer.from(readFileSync(path, 'utf8'), 'base64')
    if (key.length !== KEY_BYTES) throw new Error('it is no key')
    return key
  } catch (error) {
    throw closed(`its key in "${path}" cannot be read: ${messageOf(error)}`, LOST_HINT, error)
  }
}

/** Whole or not at all. One that is there is kept: another vault may have been locked with it. */
function placeKeyFile(path: string, text: string): void {
  const beside = `${path}.${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(beside, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(beside, path)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(beside, { force: true })
  }
}

/** The vault is there, and its key is not. */
export function closed(reason: string, hint: string, cause?: unknown): KiwiError {
  return new KiwiError('STORE_UNAVAILABLE', `Cannot open the vault: ${reason}`, { hint, cause })
}
