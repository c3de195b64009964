import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { makeFolder } from '../shared/make-folder.ts'

const BYTES = 32
/** So many bytes in base64url. */
const TOKEN = /^[\w-]{43}$/

/** The bearer token of the HTTP endpoint: made at the first start, readable by its owner only. */
export async function readOrMakeToken(path: string): Promise<{ token: string; isNew: boolean }> {
  const known = await readToken(path)
  if (known !== null) return { token: known, isNew: false }
  const token = randomBytes(BYTES).toString('base64url')
  try {
    await placeToken(path, token)
    return { token, isNew: true }
  } catch (error) {
    const other = await readToken(path)
    if (other !== null) return { token: other, isNew: false }
    throw new KiwiError('STORE_UNAVAILABLE', `Cannot write the token to "${path}": ${messageOf(error)}`, {
      hint: 'Make the folder writable, or start with --no-auth',
      cause: error,
    })
  }
}

/** Whole or not at all: another start never sees half a token, and the first of two wins. */
async function placeToken(path: string, token: string): Promise<void> {
  const beside = `${path}.${randomBytes(8).toString('hex')}`
  makeFolder(dirname(path), 0o700)
  try {
    await writeFile(beside, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true })
    await link(beside, path)
  } finally {
    await rm(beside, { force: true })
  }
}

/** Null: there is none yet. */
export async function readToken(path: string): Promise<string | null> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return null
    throw new KiwiError('STORE_UNAVAILABLE', `Cannot read the token in "${path}": ${messageOf(error)}`, {
      hint: 'Make the file readable for yourself, or start with --no-auth',
      cause: error,
    })
  }
  if (TOKEN.test(text)) return text
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot use the token in "${path}": it is empty, cut short or no token`,
    {
      hint: 'Remove the file and start again: a new token is made',
    },
  )
}

/** Whether an Authorization header holds the token; takes equally long however much of it is right. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const given = /^Bearer (\S+)$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
