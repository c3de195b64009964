import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { KiwiError, errnoOf } from '../../shared/errors.ts'
import { makeFolder } from '../../shared/make-folder.ts'
import type { Maybe } from '../../shared/maybe.ts'
import type { Store } from '../store.ts'
import { isLoginName } from './logins.ts'
import type { Sealed } from './sealed.ts'
import { readSealed, seal, unseal } from './sealed.ts'
import type { KeyKind, Lock, VaultKeys } from './vault-keys.ts'
import { closed } from './vault-keys.ts'

/** Secrets in one encrypted file, their names too. Several processes may use it at once. */
export interface Vault {
  /** By name. Read again only when the file has changed. */
  read(): Promise<ReadonlyMap<string, Secret>>
  /** Reads it where that is cheap and asks nobody: its key is known already, or lies in a file. */
  glance(): Maybe<void>
  /** A value, or the program that gives one: then the vault holds its arguments, and no value. */
  set(name: string, given: string | Argv): Promise<void>
  /** Whether it was there. */
  remove(name: string): Promise<boolean>
  /** Where the key is; null when there is no vault yet. */
  keyKind(): KeyKind | null
  /** What a person put in, without the values. */
  list(): Promise<Listed>
}

/** A program by its whole path, and its arguments. */
export type Argv = readonly string[]

type Secret =
  | { readonly value: string; readonly command?: undefined; readonly set_at: string }
  | { readonly value?: undefined; readonly command: Argv; readonly set_at: string }

interface Listed {
  readonly key: KeyKind | null
  readonly secrets: readonly {
    readonly name: string
    readonly set_at: string
    /** What gives the value; null when the vault holds it. */
    readonly command: Argv | null
  }[]
}

interface VaultMeans {
  readonly path: string
  readonly keys: VaultKeys
  readonly exclusively: Store['exclusively']
  readonly now: () => number
  /** Hears of what was read or set. */
  readonly learn?: (secrets: ReadonlyMap<string, Secret>) => void
}

/** Everything a person would want to keep; a file that is larger is no vault. */
const MOST_BYTES = 4 * 1024 * 1024
const ATTEMPTS = 5

export function openVault({ path, keys, exclusively, now, learn }: VaultMeans): Vault {
  let known: { readonly stamp: string; readonly secrets: Secrets } | null = null

  const read = async (): Promise<Secrets> => {
    const stamp = stampOf(path)
    if (stamp === null) return NONE
    if (known?.stamp === stamp) return known.secrets
    const sealed = sealedIn(path)
    if (sealed === null) return NONE
    const secrets = parse(unseal(sealed, await keys.open(sealed.lock), path), path)
    known = { stamp, secrets }
    learn?.(secrets)
    return secrets
  }

  /** Whoever writes reads anew while nobody else writes; the key is got before, as that takes its time. */
  const change = async (edit: (secrets: Map<string, Secret>) => void): Promise<void> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const before = sealedIn(path)
      const { lock, key } =
        before === null ? await keys.make() : { lock: before.lock, key: await keys.open(before.lock) }
      const isDone = await exclusively(() => {
        const there = sealedIn(path)
        if (!isSameLock(there?.lock, before?.lock)) return false
        const secrets = new Map(there === null ? NONE : parse(unseal(there, key, path), path))
        edit(secrets)
        const text = seal(JSON.stringify(Object.fromEntries(secrets)), key, lock)
        if (text.length > MOST_BYTES)
          throw new KiwiError('MESSAGE_TOO_LARGE', 'Cannot keep the secret: the vault would be too large')
        replace(path, text)
        learn?.(secrets)
        return true
      })
      if (isDone) return
      if (before === null) await keys.drop(lock)
    }
    throw new KiwiError('CONFLICT', 'Cannot write the vault: others keep replacing it', {
      hint: 'Run the command again',
    })
  }

  let glanced: string | null = null
  const glance = (): Maybe<void> => {
    const stamp = stampOf(path)
    if (stamp === glanced) return
    glanced = stamp
    if (stamp !== null && (known !== null || keyKind() === 'file')) return read().then(() => undefined)
  }

  const keyKind = (): KeyKind | null => sealedIn(path)?.lock.kind ?? null

  return {
    read,
    glance,
    set: (name, given) =>
      change((secrets) => {
        const at = { set_at: new Date(now()).toISOString() }
        secrets.set(name, typeof given === 'string' ? { value: given, ...at } : { command: given, ...at })
      }),
    async remove(name) {
      if (!(await read()).has(name)) return false
      let isGone = false
      await change((secrets) => (isGone = secrets.delete(name)))
      return isGone
    },
    keyKind,
    async list() {
      const own = [...(await read())].filter(([name]) => !isLoginName(name))
      const secrets = own.map(([name, { set_at, command = null }]) => ({ name, set_at, command }))
      return { key: keyKind(), secrets: secrets.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
    },
  }
}

type Secrets = ReadonlyMap<string, Secret>
const NONE: Secrets = new Map()

const Content = z.record(
  z.string(),
  z.union([
    z.strictObject({ value: z.string(), set_at: z.string() }),
    z.strictObject({ command: z.array(z.string()).min(1), set_at: z.string() }),
  ]),
)

function parse(text: string, path: string): Secrets {
  const content = Content.safeParse(JSON.parse(text))
  if (content.success) return new Map(Object.entries(content.data))
  throw closed(`"${path}" was written by another version of Kiwi`, 'Use that version')
}

function isSameLock(a: Lock | undefined, b: Lock | undefined): boolean {
  return a?.kind === b?.kind && a?.salt === b?.salt
}

function stampOf(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.mtimeMs}:${stat.size}:${stat.ino}`
}

function sealedIn(path: string): Sealed | null {
  try {
    const { size } = statSync(path)
    if (size > MOST_BYTES)
      throw closed(`"${path}" is too large to be a vault`, 'Put the vault back from a copy')
    return readSealed(readFileSync(path, 'utf8'), path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return null
    throw error
  }
}

/** On the disk, and whole, before it takes the place of the old one. */
function replace(path: string, text: string): void {
  makeFolder(dirname(path), 0o700)
  const beside = `${path}.${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(beside, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(beside, path)
  } finally {
    rmSync(beside, { force: true })
  }
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
