import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { KiwiError, errnoOf, messageOf } from './errors.ts'
import { makeFolder } from './make-folder.ts'

const BYTES = 32
/** So many bytes in base64url. */
const KEY = /^[\w-]{43}$/

/** What the key is to a person, and what they can do when it cannot be had. */
export interface KeyWords {
  readonly name: string
  readonly otherwise: string
}

/** A random key in a file that only its owner reads, made at first need. */
export async function readOrMakeKeyFile(
  path: string,
  words: KeyWords,
): Promise<{ readonly key: string; readonly isNew: boolean }> {
  const known = await readKeyFile(path, words)
  if (known !== null) return { key: known, isNew: false }
  const key = randomBytes(BYTES).toString('base64url')
  try {
    await place(path, key)
    return { key, isNew: true }
  } catch (error) {
    const other = await readKeyFile(path, words)
    if (other !== null) return { key: other, isNew: false }
    throw new KiwiError(
      'STORE_UNAVAILABLE',
      `Cannot write the ${words.name} to "${path}": ${messageOf(error)}`,
      { hint: `Make the folder writable, or ${words.otherwise}`, cause: error },
    )
  }
}

/** Whole or not at all: another process never sees half a key, and the first of two wins. */
async function place(path: string, key: string): Promise<void> {
  const beside = `${path}.${randomBytes(8).toString('hex')}`
  makeFolder(dirname(path), 0o700)
  try {
    await writeFile(beside, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true })
    await link(beside, path)
  } finally {
    await rm(beside, { force: true })
  }
}

/** Null: there is none yet. */
export async function readKeyFile(path: string, { name, otherwise }: KeyWords): Promise<string | null> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return null
    throw new KiwiError('STORE_UNAVAILABLE', `Cannot read the ${name} in "${path}": ${messageOf(error)}`, {
      hint: `Make the file readable for yourself, or ${otherwise}`,
      cause: error,
    })
  }
  if (KEY.test(text)) return text
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot use the ${name} in "${path}": it is empty, cut short or no ${name}`,
    { hint: `Remove the file and start again: a new ${name} is made` },
  )
}
