import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { parseItemRef } from '../shared/ids.ts'
import { textOf } from '../shared/template.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Approval } from '../store/approvals.ts'
import { newId } from './approval.ts'
import { summaryOf } from './approval-view.ts'
import { asksOf } from './asks.ts'
import type { Answer, Call, Outcome, Ticket } from './call.ts'
import { callHash } from './call-hash.ts'
import type { Means } from './means.ts'
import { newCall } from './new-call.ts'
import { permission } from './permission.ts'
import { runWork } from './run-work.ts'

interface Edit {
  readonly answer: Answer
  readonly lookup: Lookup
  readonly ticket: Ticket
  readonly means: Means
}

/**
 * The same call with the arguments a person gave it: worked out and judged anew, as if whoever asked had sent it, and
 * approved at once. It is a call of its own, with a hash of its own.
 */
export async function approveEdited(
  asked: Approval,
  parameters: JsonObject,
  { answer, lookup, ticket, means }: Edit,
): Promise<Approval> {
  const { summary, principal, session, tool } = asked
  if (summary['action'] !== 'run') {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot change the arguments of "${asked.id}": it runs no tool`,
      {
        hint: `Deny it and say why: kiwi deny ${asked.id} REASON`,
      },
    )
  }
  const subject = textOf(summary['subject'] ?? tool)
  const caller = { ...ticket.caller, principal, session, kind: callerKind(summary) }
  const asIf: Ticket = { ...ticket, operation: 'execute.run', subject, parameters, caller }
  const call: Call = newCall(asIf, () => Promise.reject(new TypeError('it is worked out already')))
  const wish = { kind: 'run', ref: parseItemRef(subject), itemType: 'tool', parameters } as const
  call.work = await runWork(wish, lookup, asIf, means)
  call.projectPath = lookup.projectPath
  call.run = asked.run === null ? null : await means.runs.find(asked.run, principal)
  await permission(call, () => Promise.resolve(JUDGED), means)
  const now = means.clock.now()
  const row = await means.approver.seal({
    ...asked,
    id: newId(),
    call_hash: callHash(call),
    digest: call.work.digest ?? null,
    summary: summaryOf(call, asksOf(call)),
    state: 'approved',
    scope: 'once',
    decided_by: ticket.caller.principal,
    channel: answer.channel,
    reason: answer.reason,
    created_at: now,
    expires_at: now + (asked.expires_at - asked.created_at),
    decided_at: now,
  })
  if (row.call_hash === asked.call_hash) {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot change "${asked.id}": these are its arguments already`,
      {
        hint: `Approve it as it is: kiwi approve ${asked.id}`,
      },
    )
  }
  return row
}

/** Never seen: only what the stage finds out is wanted. */
const JUDGED: Outcome = { status: 'success', data: {}, itemId: '', action: '', chain: [], warnings: [] }

function callerKind(summary: JsonObject): 'agent' | 'person' {
  return summary['caller'] === 'person' ? 'person' : 'agent'
}
