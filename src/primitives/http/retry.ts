import type { Clock } from '../../shared/clock.ts'
import type { HttpRequest, Target } from './request.ts'
import type { HttpFailure, Problem } from './result.ts'

/** What one attempt came to, as far as another one depends on it. */
export interface Attempted {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly problem: Problem | null
}

const CAP_MS = 30_000
const TRANSIENT: ReadonlySet<HttpFailure> = new Set(['connection', 'dns', 'timeout'])

/** How long to wait before the next attempt; null: there is none. `count` attempts were made. */
export function retryDelay(
  { retryDelayMs, retryableStatuses }: HttpRequest,
  { isIdempotent, isFollowed }: Pick<Target, 'isIdempotent' | 'isFollowed'>,
  { status, retryAfter, problem }: Attempted,
  { count, clock, random }: { count: number; clock: Clock; random: () => number },
): number | null {
  if (!isIdempotent && isFollowed) return null
  const backoff = random() * Math.min(CAP_MS, retryDelayMs * 2 ** (count - 1))
  // A broken request that may have had an effect arrives here as `outcome_unknown`, never as one of these.
  if (problem !== null) return TRANSIENT.has(problem.failure) ? backoff : null
  if (!retryableStatuses.includes(status)) return null
  const asked = readRetryAfter(retryAfter, clock)
  if (isIdempotent) return asked ?? backoff
  return status === 429 || status === 503 ? asked : null
}

/** Seconds, or a date, which begins with a weekday: JavaScript reads a date into nearly every number. */
function readRetryAfter(value: string | undefined, clock: Clock): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/i.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(date) ? null : Math.max(0, date - clock.now())
}
