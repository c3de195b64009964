import { sha256 } from '../../shared/json.ts'
import type { NewRecord } from '../journal.ts'

/** What a record says besides its body. */
export interface Said extends Omit<NewRecord, 'body' | 'mono'> {
  readonly mono: number | null
}

/** What stands before the first record. */
export const GENESIS = '0'.repeat(64)

/** Covers the place of a record, what it says, and the hash of its body in place of the body. */
export function hashOf(seq: number, prevHash: string, bodyHash: string, said: Said): string {
  const { kind, call_id, session, principal, operation, tool, status, wall, mono, parent_session } = said
  const parts: (string | number | null)[] = [seq, prevHash, kind, call_id, session, principal]
  parts.push(operation, tool, status, wall, bodyHash)
  // The oldest records have neither; taking both away, or giving one to an old record, gives another hash.
  if (mono !== null || parent_session !== null) parts.push(mono, parent_session)
  // For a flat list of text and whole numbers this is the canonical form.
  return sha256(JSON.stringify(parts))
}

/** Salted, so that an erased body cannot be guessed from its hash. */
export function hashBody(salt: string, body: string): string {
  return sha256(salt + body)
}
