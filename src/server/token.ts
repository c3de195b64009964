import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'

/** The bearer token of the HTTP endpoint: made at the first start, readable by its owner only. */
export async function readOrMakeToken(path: string): Promise<{ token: string; isNew: boolean }> {
  const known = await readToken(path)
  if (known !== null) return { token: known, isNew: false }
  const token = randomBytes(32).toString('base64url')
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
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

async function readToken(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trim() === '' ? null : text.trim()
}

/** Whether an Authorization header holds the token; takes equally long however much of it is right. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const given = /^Bearer (\S+)$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
