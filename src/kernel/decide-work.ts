import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Approval } from '../store/approvals.ts'
import { longestScope } from './approval-view.ts'
import { assertPerson } from './assert-person.ts'
import type { Answer, Ticket, Wish, Work } from './call.ts'
import { approveEdited } from './edit-approval.ts'
import type { Means } from './means.ts'
import { openQuestion, STATES } from './open-question.ts'
import { keepWaitingCopy } from './waiting-copy.ts'

/** A person answers a question. It is a call like any other: judged, and on record with who said it and where. */
export async function decideWork(
  { answer }: Extract<Wish, { kind: 'decide' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, answer.decision)
  const { approval: id, decision, scope, reason, channel } = answer
  const link = { id: 'kiwi-mcp', version: null, space: null }
  const shown: JsonObject = { approval_id: id, decision, scope, reason, channel }
  return {
    item: link,
    action: decision,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: decision }],
    isRepeatable: false,
    isReadOnly: false,
    isRefusal: decision === 'deny',
    // Whoever answers need not be asked whether they may.
    ifAsked: 'pass',
    parameters: shown,
    redact: keepAll,
    preview: () => shown,
    warnings: [],
    async perform() {
      const asked = await openQuestion(answer, ticket, means)
      const other =
        answer.parameters === null
          ? null
          : await approveEdited(asked, answer.parameters, { answer, lookup, ticket, means })
      const decided = await means.approver.seal({
        ...asked,
        ...decisionOf(asked, { ...answer, scope: scopeOf(asked, answer) }, means.clock.now()),
        decided_by: ticket.caller.principal,
        replaced_by: other?.id ?? null,
        ...(other === null ? {} : { state: 'rejected' }),
      })
      await means.store.approvals.decide(decided, asked, other ?? undefined)
      await keepWaitingCopy(decided, means)
      return { data: resultOf(other ?? decided, answer), warnings: [] }
    },
  }
}

/** How long a yes for the whole session or run is good for at most. */
const LONGEST_GRANT_MS = 24 * 60 * 60 * 1000

/** Where several clients have the session, a yes to one of them is for this call alone. */
function scopeOf(asked: Approval, { scope }: Answer): Approval['scope'] {
  return longestScope(asked) === 'once' ? 'once' : scope
}

/** A yes is good for as long as the question was, from now on. */
function decisionOf(
  { created_at, expires_at }: Approval,
  { decision, scope, reason, channel }: Answer,
  now: number,
): Pick<Approval, 'state' | 'scope' | 'reason' | 'channel' | 'decided_at' | 'expires_at'> {
  const length = scope === 'run' ? LONGEST_GRANT_MS : expires_at - created_at
  return {
    state: STATES[decision],
    scope,
    reason,
    channel,
    decided_at: now,
    expires_at: decision === 'approve' ? now + length : expires_at,
  }
}

function resultOf(decided: Approval, { decision, scope: wanted }: Answer): JsonObject {
  const { id, tool, state, scope, call_hash, expires_at } = decided
  const until = new Date(expires_at).toISOString()
  const alone =
    wanted === 'run' && longestScope(decided) === 'once'
      ? '; not longer, since several clients have this session'
      : ''
  const output =
    decision === 'deny'
      ? `Denied: "${tool}" does not run`
      : `Approved: "${tool}" runs ${scope === 'once' ? 'once' : 'without being asked about in this session or run'} when the call is sent again, until ${until}${alone}`
  return { output, approval_id: id, state, scope, call_hash, expires_at: until }
}
