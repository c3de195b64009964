import { KiwiError, messageOf } from '../shared/errors.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Call, Outcome } from './call.ts'
import { callHash } from './call-hash.ts'
import type { Stage } from './gate.ts'
import type { Means } from './means.ts'
import type { Streak } from './streaks.ts'

/** Remembers how the calls of an agent ended, for the breaker. Stands outside of permission, whose refusals count. */
export const endings: Stage = async (call, next, means) => {
  if (call.ticket.caller.kind !== 'agent' || call.work?.isQuestion === true) return next()
  try {
    const outcome = await next()
    // What was read is no part of a loop, and ends no row.
    if (call.work?.isReadOnly === true) return outcome
    const remembering = remember(call, outcome, means)
    if (remembering instanceof Promise) await remembering
    return outcome
  } catch (error) {
    await remember(call, error, means)
    throw error
  }
}

/** What cannot be remembered is not: the call is over. */
function remember(call: Call, end: unknown, { streaks, log }: Means): Maybe<void> {
  const failed = (error: unknown): void =>
    log.warn('streak.unwritable', { call_id: call.ticket.callId, reason: messageOf(error) })
  try {
    const remembering = after(streaks.of(call), (streak) => {
      const next = nextOf(call, end, streak)
      return next === null ? undefined : streaks.put(call, next)
    })
    return remembering instanceof Promise ? remembering.catch(failed) : remembering
  } catch (error) {
    return failed(error)
  }
}

/** Null where nothing is to be remembered. */
function nextOf(call: Call, end: unknown, streak: Streak): Streak | null {
  const isReading = call.work?.isReadOnly === true
  // Who looks around meets what is closed: only many of these tell something.
  if (isDenial(end)) return isReading ? { ...streak, allDenials: streak.allDenials + 1 } : denied(streak)
  return isReading || call.decision === 'open' ? null : performed(call, end, streak)
}

function isDenial(end: unknown): boolean {
  return end instanceof KiwiError && (end.code === 'PERMISSION_DENIED' || end.code === 'APPROVAL_REJECTED')
}

function denied(streak: Streak): Streak {
  return { ...streak, denials: streak.denials + 1, allDenials: streak.allDenials + 1 }
}

/** With a person's yes, what was refused before is settled. */
function performed(call: Call, end: unknown, before: Streak): Streak {
  const allDenials = call.approval === null ? before.allDenials : 0
  const calm = { denials: 0, allDenials }
  if (call.work?.isRepeatable === true) return { hash: null, end: null, repeats: 0, sameEnds: 0, ...calm }
  const now = { hash: callHash(call), end: endOf(end) }
  const isSame = now.hash === before.hash
  return {
    repeats: isSame ? before.repeats + 1 : 1,
    sameEnds: isSame && now.end === before.end ? before.sameEnds + 1 : 1,
    ...calm,
    ...now,
  }
}

/** What it can be undone by is another id each time. */
function endOf(end: unknown): string {
  if (end instanceof KiwiError) return end.code
  return isOutcome(end) ? sha256(canonicalJson({ ...end.data, undo_id: null })) : 'INTERNAL'
}

function isOutcome(end: unknown): end is Outcome {
  return typeof end === 'object' && end !== null && 'data' in end
}
