import type { JsonObject } from '../shared/json.ts'
import type { Claim } from './approvals.ts'

/** One record of the journal, before it has its place in the chain. */
export interface NewRecord {
  readonly kind: 'decision' | 'outcome'
  readonly call_id: string
  readonly session: string
  /** The session this one came from; null for one that a client began. */
  readonly parent_session: string | null
  readonly principal: string
  readonly operation: string
  /** The item as it was asked for. */
  readonly tool: string
  /** Decision: allow, ask or deny. Outcome: success, parked, error, denied, rejected, timeout, cancelled, unknown. */
  readonly status: string
  readonly wall: number
  /** Of the clock that never goes back; two of them compare within one process. */
  readonly mono: number
  readonly body: JsonObject
}

export interface JournalRecord extends Omit<NewRecord, 'mono'> {
  readonly seq: number
  /** Null in the oldest records. */
  readonly mono: number | null
  readonly prev: string
  readonly hash: string
}

export interface JournalFilter {
  readonly limit: number
  /** Only records after this one, oldest first; without it the newest, newest first. */
  readonly after?: number
  readonly call_id?: string
  /** This session and all that came from it. */
  readonly session?: string
  readonly tool?: string
  readonly status?: string
  readonly principal?: string
  readonly operation?: string
  /** From this time on, and before this one. */
  readonly since?: number
  readonly until?: number
  /** Only outcomes of what was refused: by a rule, a person, a limit or for want of trust. A faulty request is not. */
  readonly isDenied?: boolean
}

/** What is wrong with a record: its content, that it is not there, or that it does not follow the one before. */
export type JournalFault = 'changed' | 'missing' | 'moved'

export interface Verified {
  /** The sound ones before the first that is not. */
  readonly records: number
  /** The first that was changed, removed or moved. */
  readonly brokenAt: number | null
  readonly fault: JournalFault | null
  /** Records whose clock stood before that of the one before them, and by how much: the first hundred. */
  readonly clockBack: readonly { readonly seq: number; readonly ms: number }[]
  /** Records whose bodies are gone. */
  readonly erased: readonly { readonly seq: number; readonly call_id: string }[]
}

/** Append-only, hash-linked over all processes that share the store. */
export interface Journal {
  /**
   * Resolves when the records are committed: they then survive the death of this process and, when `sync` is
   * 'full', of the machine. Records given in one turn of the loop share a transaction. Gives them back as they stand.
   * With a claim the approval is used up in the same transaction: APPROVAL_USED when it cannot be any more, and then
   * nothing is recorded.
   */
  append(
    records: readonly NewRecord[],
    sync: 'normal' | 'full',
    claim?: Claim,
  ): Promise<readonly JournalRecord[]>
  /** The same for records that nobody waits for: they are made and committed a moment later. Whoever reads here, reads them too. */
  appendLater(make: () => readonly NewRecord[]): Promise<readonly JournalRecord[]>
  /** Hears of records of this process when they stand, in their order. It must not throw, and nobody waits for it. */
  follow(hear: (placed: readonly JournalRecord[]) => void): void
  /** Resolves when all that was given is committed. */
  drain(): Promise<void>
  read(filter: JournalFilter): Promise<readonly JournalRecord[]>
  /** Calls among the newest that were let through and have no outcome: they are under way, or were cut off. */
  unfinished(): Promise<readonly JournalRecord[]>
  /** Walks the chain. A tail that was cut off cannot be seen from here. */
  verify(): Promise<Verified>
  /** Drops the bodies of a call for good and keeps their hashes. Returns how many there were. */
  erase(callId: string): Promise<number>
  /** Keeps, beside the records, how many there were when the last head was written. */
  noteHead(size: number): Promise<void>
  /** Null when there never was one. */
  notedHead(): Promise<number | null>
}
