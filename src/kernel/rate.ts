import { KiwiError, messageOf } from '../shared/errors.ts'
import type { FullWindow, Window } from '../store/limits.ts'
import type { Call, Outcome } from './call.ts'
import type { Stage } from './gate.ts'
import { holderOf } from './holder.ts'
import type { Means } from './means.ts'
import type { RateLimit } from './policy/policy.ts'

/**
 * Windows of calls, shared by all processes on one store. A call that is not let through does not count, nor does one
 * that waits for a person: it is sent again. One that fails later does.
 */
export const rate: Stage = (call, next, means) => {
  const speaking = limitsOf(call)
  return speaking.length === 0 ? next() : counted(call, speaking, next, means)
}

async function counted(
  call: Call,
  speaking: readonly RateLimit[],
  next: () => Promise<Outcome>,
  { store, clock, log }: Means,
): Promise<Outcome> {
  const { principal } = call.ticket.caller
  const windows = speaking.map(({ id, file, count, windowMs, per }): Window => ({
    key: `${id}\n${file}\n${per === 'session' ? holderOf(call) : principal}`,
    count,
    windowMs,
  }))
  const at = clock.now()
  const full = await store.limits.take(windows, at)
  if (full !== null) throw limited(call, full)
  try {
    return await next()
  } finally {
    // The call is over, and its end must not be hidden. What cannot be given back stays counted.
    if (call.decision === 'open')
      await store.limits.giveBack(windows, at).catch((error: unknown) => {
        log.warn('rate.counted', { call_id: call.ticket.callId, reason: messageOf(error) })
      })
  }
}

function limitsOf({ policy, work }: Call): readonly RateLimit[] {
  if (policy === null || work === null || policy.rateLimits.length === 0) return []
  return policy.rateLimits.filter(({ speaksOf }) => work.demands.some(speaksOf))
}

function limited({ ticket }: Call, { key, count, windowMs, used, retryAfterMs }: FullWindow): KiwiError {
  const rule = key.slice(0, key.indexOf('\n'))
  const window = windowMs / 1000
  const wait = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new KiwiError(
    'RATE_LIMITED',
    `Cannot run "${ticket.subject}": "${rule}" allows ${count} in ${window} s, and ${used} were made`,
    {
      hint: `Wait ${wait} s, then send the call again`,
      details: {
        layer: rule.split('/')[0] ?? rule,
        rule,
        limit: count,
        window,
        used,
        retry_after: wait,
        required: `a person raises it in the agent_harness.yaml that "${rule}" names`,
      },
    },
  )
}
