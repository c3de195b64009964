import { hash, timingSafeEqual } from 'node:crypto'
import { readKeyFile, readOrMakeKeyFile } from '../shared/key-file.ts'

const WORDS = { name: 'token', otherwise: 'start with --no-auth' }

/** The bearer token of the HTTP endpoint: made at the first start, readable by its owner only. */
export async function readOrMakeToken(path: string): Promise<{ token: string; isNew: boolean }> {
  const { key, isNew } = await readOrMakeKeyFile(path, WORDS)
  return { token: key, isNew }
}

/** Null: there is none yet. */
export function readToken(path: string): Promise<string | null> {
  return readKeyFile(path, WORDS)
}

/** Whether an Authorization header holds the token; takes equally long however much of it is right. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const given = /^Bearer (\S+)$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
