import { sha256 } from '../../shared/json.ts'
import type { NewRecord } from '../journal.ts'

/** What a record's hash covers: its place, what it says, and the hash of its body in place of the body. */
export interface Link extends Omit<NewRecord, 'body' | 'mono'> {
  readonly mono: number | null
  readonly seq: number
  readonly prev_hash: string
  readonly body_hash: string
}

/** What stands before the first record. */
export const GENESIS = '0'.repeat(64)

export function hashOf(link: Link): string {
  const { seq, prev_hash, kind, call_id, session, principal, operation, tool, status, wall, body_hash } = link
  const said = [seq, prev_hash, kind, call_id, session, principal, operation, tool, status, wall, body_hash]
  // The oldest records have neither; taking both away, or giving one to an old record, gives another hash.
  const { mono, parent_session } = link
  const isOldest = mono === null && parent_session === null
  // For a flat list of text and whole numbers this is the canonical form.
  return sha256(JSON.stringify(isOldest ? said : [...said, mono, parent_session]))
}

/** Salted, so that an erased body cannot be guessed from its hash. */
export function hashBody(salt: string, body: string): string {
  return sha256(salt + body)
}
