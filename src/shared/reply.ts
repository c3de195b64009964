import type { ErrorCode, Fix } from './errors.ts'

/** A closed set: a new status is a change of a pin. */
export type Status = 'success' | 'error' | 'ready' | 'dry_run' | 'approval_required'

export interface ReplyError {
  readonly code: ErrorCode
  readonly message: string
  readonly hint: string
  readonly fix: Fix
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>
}

export interface ReplyMetadata {
  readonly call_id: string
  readonly duration_ms: number
  readonly executor_chain?: readonly string[]
  readonly item_id?: string
  readonly action?: string
  readonly warnings?: readonly string[]
}

/** The one shape of every answer of the four tools: four keys, always present, in this order. */
export interface Reply {
  readonly status: Status
  readonly data: unknown
  readonly error: ReplyError | null
  readonly metadata: ReplyMetadata
}
