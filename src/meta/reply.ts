import type { Outcome } from '../kernel/call.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
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
  const { call_id, duration_ms } = stamp
  const metadata = { call_id, duration_ms, executor_chain: chain, item_id: itemId, action }
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
      // Where no call mends it, there is one that explains it.
      fix: failure.fix ?? { call: 'help', arguments: { error_code: failure.code } },
      retryable: failure.retryable,
      details: shortened(failure.details),
    },
    metadata: stamp,
  }
}

/** Nothing leaves with a secret in it. Any text of it may have been cut. */
export function cleanReply(reply: Reply, redact: Redact): Reply {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- replies are JSON, and redacting keeps their shape
  return redact(reply as unknown as JsonValue, true) as unknown as Reply
}

const MOST_WARNINGS = 20
const MOST_ENTRIES = 100
const MOST_CHARACTERS = 500

/** Details name what was wrong, and whoever sent it may have given it any length. */
function shortened<T>(value: T): T
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, MOST_CHARACTERS)
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((entry: unknown) => shortened(entry))
  if (!isObject(value)) return value
  const entries = Object.entries(value).slice(0, MOST_ENTRIES)
  return Object.fromEntries(entries.map(([key, entry]) => [key.slice(0, MOST_CHARACTERS), shortened(entry)]))
}

/** The only converter: whatever else was thrown is a fault of ours. */
export function toKiwiError(error: unknown): KiwiError {
  if (error instanceof KiwiError) return error
  return new KiwiError('INTERNAL', `Cannot finish the call: ${messageOf(error)}`, { cause: error })
}

function withWarnings(metadata: ReplyMetadata, warnings: readonly string[]): ReplyMetadata {
  if (warnings.length === 0) return metadata
  // A server that is listed for a call is warned of by both.
  const all = [...new Set(warnings)]
  const shown = all.slice(0, MOST_WARNINGS).map((warning) => warning.slice(0, MOST_CHARACTERS))
  const more = all.length - shown.length
  return { ...metadata, warnings: more > 0 ? [...shown, `${more} more warnings`] : shown }
}
