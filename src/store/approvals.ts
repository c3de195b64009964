import type { JsonObject } from '../shared/json.ts'

/** A question to a person about one exact call, and the answer. */
export interface Approval {
  /** Short enough to be typed. */
  readonly id: string
  readonly call_hash: string
  /** The call that asked. */
  readonly call_id: string
  readonly session: string
  readonly run: string | null
  readonly principal: string
  readonly project: string | null
  readonly tool: string
  /** The content that would run; null where nothing is run. */
  readonly digest: string | null
  readonly layer: string
  readonly rule: string | null
  /** What a person is shown. */
  readonly summary: JsonObject
  readonly state: ApprovalState
  /** For this very call, or for calls like it as long as the session or run lasts. */
  readonly scope: 'once' | 'run'
  readonly decided_by: string | null
  readonly channel: string | null
  readonly reason: string | null
  /** The approval of the call with the arguments a person gave it instead. */
  readonly replaced_by: string | null
  readonly created_at: number
  readonly expires_at: number
  readonly decided_at: number | null
  /** Over everything above, by the approver's key. */
  readonly mac: string
  readonly used_at: number | null
}

export type ApprovalState = 'pending' | 'approved' | 'rejected' | 'expired' | 'used'

/** An approval that is used up together with the record of the decision it allows. */
export interface Claim {
  readonly approval: string
  readonly call_hash: string
  readonly mac: string
  readonly used_at: number
}

export interface ApprovalFilter {
  readonly limit: number
  readonly states?: readonly ApprovalState[]
  readonly session?: string
  readonly call_hash?: string
  /** How the id begins. */
  readonly prefix?: string
}

/** Every write survives the death of the machine. */
export interface Approvals {
  /**
   * Puts a question, unless one about the same call is still open; gives the one that stands.
   * OVERLOADED when the session has as many open ones as it may.
   */
  ask(question: Approval): Promise<Approval>
  /**
   * Puts a decided row in place of the one that was seen, and beside it the one that a person approved instead.
   * CONFLICT when the one that was seen has changed since.
   */
  decide(decided: Approval, seen: Approval, instead?: Approval): Promise<void>
  /** Nobody answered in time, or it is not ours. False when another process said so first. */
  expire(id: string): Promise<boolean>
  /** Newest first. */
  list(filter: ApprovalFilter): Promise<readonly Approval[]>
}
