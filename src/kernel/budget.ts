import { KiwiError, messageOf } from '../shared/errors.ts'
import type { Stage } from './gate.ts'
import { holderOf } from './holder.ts'

/** What one session or run may use in all: set aside before, spent when the call was let through, else free again. */
export const budget: Stage = async (call, next, { store, clock, log }) => {
  const cap = call.policy?.callBudget ?? null
  if (cap === null || !call.ticket.operation.startsWith('execute')) return next()
  const share = { holder: holderOf(call), kind: 'tool_calls', cap, amount: 1 }
  const left = await store.limits.reserve(share, clock.now())
  if (left !== null) throw exceeded(call.ticket.subject, cap, left.spent + left.reserved)
  try {
    return await next()
  } finally {
    const spent = call.decision === 'open' ? 0 : 1
    // The call is over, and its end must not be hidden. What is not settled stays booked.
    await store.limits.settle(share, 1, spent).catch((error: unknown) => {
      log.warn('budget.unsettled', { call_id: call.ticket.callId, reason: messageOf(error) })
    })
  }
}

function exceeded(subject: string, cap: number, used: number): KiwiError {
  const required = 'A person raises budgets.tool_calls in agent_harness.yaml, or begins a new session'
  return new KiwiError(
    'BUDGET_EXCEEDED',
    `Cannot run "${subject}": this session or run may make ${cap} calls, and ${used} are made or under way`,
    {
      hint: required,
      details: { layer: 'harness', rule: 'budgets.tool_calls', kind: 'tool_calls', cap, used, required },
    },
  )
}
