import type { Outcome } from '../kernel/call.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Reply, ReplyMetadata } from '../shared/reply.ts'

/** What every answer says about its call. */
export interface Stamp {
  readonly call_id: string
  readonly duration_ms: number
}

/** The answer of `search`, `load` and `help`. */
export function successReply(data: JsonObject, stamp: Stamp, warnings: readonly string[] = []): Reply {
  return { status: 'success', data, error: null, metadata: withWarnings(stamp, warnings) }
}

/** The answer of a call that went through the gate. */
export function outcomeReply(outcome: Outcome, stamp: Stamp): Reply {
  const { status, data, itemId, action, chain, warnings } = outcome
  const metadata = { ...stamp, executor_chain: chain, item_id: itemId, action }
  return { status, data, error: null, metadata: withWarnings(metadata, warnings) }
}

export function errorReply(error: unknown, stamp: Stamp): Reply {
  const failure = toKiwiError(error)
  return {
    status: 'error',
    data: failure.partial ?? null,
    error: {
      code: failure.code,
      message: failure.message,
      hint: failure.hint,
      ...(failure.fix === undefined ? {} : { fix: failure.fix }),
      retryable: failure.retryable,
      details: failure.details,
    },
    metadata: stamp,
  }
}

/** The only converter: whatever else was thrown is a fault of ours. */
export function toKiwiError(error: unknown): KiwiError {
  if (error instanceof KiwiError) return error
  return new KiwiError('INTERNAL', `Cannot finish the call: ${messageOf(error)}`, { cause: error })
}

function withWarnings(metadata: ReplyMetadata, warnings: readonly string[]): ReplyMetadata {
  return warnings.length === 0 ? metadata : { ...metadata, warnings }
}
