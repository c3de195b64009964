import type { JsonObject } from '../shared/json.ts'

/** What stands at a path. A hash is the SHA-256 of the bytes. */
export type Entry =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly mode: number; readonly hash: string }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder'; readonly mode: number }

/** One path that a call touched, before and after. */
export interface PathChange {
  readonly path: string
  readonly before: Entry
  /** Null: the call was cut off, so nobody knows what it left. */
  readonly after: Entry | null
}

export interface NewCheckpoint {
  readonly call_id: string
  readonly run: string | null
  readonly session: string
  readonly principal: string
  readonly project: string | null
  readonly tool: string
  readonly tier: 'files' | 'tree' | 'call'
  readonly wall: number
}

/** What is kept of one call so that it can be taken back. */
export interface Checkpoint extends NewCheckpoint {
  /** Open: the call is under way, or was cut off. */
  readonly state: 'open' | 'closed' | 'undone'
  /** The call that took it back. */
  readonly undone_by: string | null
  /** What its tier needs besides paths. */
  readonly details: JsonObject
}

/** The bytes of one file, by their hash. */
export interface KeptBytes {
  readonly hash: string
  readonly bytes: Uint8Array
}

interface KeptLimits {
  readonly bytes: number
  readonly files: number
  /** What is older goes. */
  readonly since: number
}

/** What calls changed, as it was before: kept until it is too old or too much, the oldest going first. */
export interface UndoLog {
  /** Before the effect: on disk when it resolves. */
  open(checkpoint: NewCheckpoint, before: readonly PathChange[], bytes: readonly KeptBytes[]): Promise<void>
  /** After it: these changes, in place of what was expected. */
  close(
    callId: string,
    changes: readonly PathChange[],
    more?: { readonly bytes?: readonly KeptBytes[]; readonly details?: JsonObject },
  ): Promise<void>
  /** Nothing was changed, so there is nothing to take back. */
  discard(callId: string): Promise<void>
  /** By the id of a call, a run or a session; newest first. */
  find(id: string): Promise<readonly Checkpoint[]>
  /** The newest that nobody has taken back yet, newest first. */
  standing(limit: number): Promise<readonly Checkpoint[]>
  /** Calls of a project that are under way or were cut off. */
  unfinished(project: string): Promise<readonly Checkpoint[]>
  changes(callId: string): Promise<readonly PathChange[]>
  bytes(hash: string): Promise<Uint8Array | null>
  /** These calls were taken back by that one; what they had taken back themselves stands again. */
  markUndone(callIds: readonly string[], by: string): Promise<void>
  /** Drops the oldest until the rest is within the limits; says how many calls went. */
  trim(limits: KeptLimits): Promise<number>
}
