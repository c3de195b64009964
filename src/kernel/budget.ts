import { KiwiError, messageOf } from '../shared/errors.ts'
import type { Call } from './call.ts'
import type { Stage } from './gate.ts'
import { holderOf } from './holder.ts'
import type { Means } from './means.ts'

/** What one session or run may use in all: set aside before, spent when the call was let through, else free again. */
export const budget: Stage = (call, next, means) =>
  call.ticket.operation.startsWith('execute')
    ? within(call, means, next, () => (call.decision === 'open' ? 0 : 1))
    : next()

/** For what counts as a call of its own, whoever asks for it. */
export async function chargeCall<T>(call: Call, means: BudgetMeans, work: () => Promise<T>): Promise<T> {
  return within(call, means, work, () => 1)
}

type BudgetMeans = Pick<Means, 'store' | 'clock' | 'log'>

async function within<T>(
  call: Call,
  { store, clock, log }: BudgetMeans,
  work: () => Promise<T>,
  spent: () => number,
): Promise<T> {
  const cap = call.policy?.callBudget ?? null
  if (cap === null) return work()
  const share = { holder: holderOf(call), kind: 'tool_calls', cap, amount: 1 }
  const left = await store.limits.reserve(share, clock.now())
  if (left !== null) throw exceeded(call.ticket.subject, cap, left.spent + left.reserved)
  try {
    return await work()
  } finally {
    // The call is over, and its end must not be hidden. What is not settled stays booked.
    await store.limits.settle(share, 1, spent()).catch((error: unknown) => {
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
