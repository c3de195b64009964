import { randomBytes } from 'node:crypto'
import type { Approval } from '../store/approvals.ts'
import { summaryOf, questionText } from './approval-view.ts'
import { asksOf } from './asks.ts'
import type { Call, Outcome, Work } from './call.ts'
import { callHash } from './call-hash.ts'
import { findAnswer, isOfMany, sessionOf } from './find-answer.ts'
import type { Stage } from './gate.ts'
import type { Means } from './means.ts'
import { denied } from './permission.ts'
import type { Verdict } from './policy/rule.ts'
import { keepWaitingCopy } from './waiting-copy.ts'

/** Where a layer says ask, a person answers for this very call, once. Nothing waits here: the same call finds the answer. */
export const approval: Stage = (call, next, means) => {
  const { verdict, work } = call
  return verdict?.effect !== 'ask' || work === null ? next() : answered({ call, verdict, work }, next, means)
}

async function answered(
  { call, verdict, work }: Pick<Question, 'call' | 'verdict' | 'work'>,
  next: () => Promise<Outcome>,
  means: Means,
): Promise<Outcome> {
  const allow = (): Promise<Outcome> => {
    call.verdict = { ...verdict, effect: 'allow' }
    return next()
  }
  if (work.ifAsked === 'pass') return allow()
  if (work.ifAsked === 'refuse') throw denied(verdict, work)
  const asks = asksOf(call)
  const hash = callHash(call)
  const found = await findAnswer(call, hash, asks, means)
  if (found?.state === 'approved') {
    call.approval = { id: found.id, claim: claimOf(found, hash, call, means) }
    return allow()
  }
  const open = found ?? (await ask({ call, work, verdict, hash, asks }, means))
  call.approval = { id: open.id, claim: null }
  return parked(open, work)
}

/** A yes for the whole session is not used up by a call of that session. */
function claimOf(
  { id, scope, session, mac }: Approval,
  call_hash: string,
  call: Call,
  { clock }: Means,
): NonNullable<Call['approval']>['claim'] {
  if (scope === 'run' && session === sessionOf(call) && !isOfMany(call)) return null
  return { approval: id, call_hash, mac, used_at: clock.now() }
}

interface Question {
  readonly call: Call
  readonly work: Work
  readonly verdict: Verdict
  readonly hash: string
  readonly asks: readonly Verdict[]
}

async function ask({ call, work, verdict, hash, asks }: Question, means: Means): Promise<Approval> {
  const { ticket, projectPath, policy } = call
  const now = means.clock.now()
  const question = await means.approver.seal({
    id: newId(),
    call_hash: hash,
    call_id: ticket.callId,
    session: sessionOf(call),
    run: call.run?.id ?? null,
    principal: ticket.caller.principal,
    project: projectPath,
    tool: work.item.id,
    digest: work.digest ?? null,
    layer: verdict.layer,
    rule: verdict.rule,
    summary: summaryOf(call, asks),
    state: 'pending',
    scope: 'once',
    decided_by: null,
    channel: null,
    reason: null,
    replaced_by: null,
    created_at: now,
    expires_at: now + (policy?.approvalTimeoutMs(verdict.demand) ?? 0),
    decided_at: null,
    used_at: null,
  })
  const open = await means.store.approvals.ask(question)
  if (open.id === question.id) {
    await keepWaitingCopy(open, means)
    means.notify(open, policy?.notices ?? [])
  }
  return open
}

const ALPHABET = '23456789abcdefghjkmnpqrstvwxyz'

/** Nobody guesses one of 2^58, and everybody can type it. */
export function newId(): string {
  return Array.from(randomBytes(12), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
}

function parked(open: Approval, work: Work): Outcome {
  const { id, expires_at, call_hash } = open
  return {
    status: 'approval_required',
    data: {
      approval_id: id,
      summary: questionText(open),
      expires_at: new Date(expires_at).toISOString(),
      how: [
        `a person decides: kiwi approve ${id}, or kiwi deny ${id}`,
        'send the same call again: it finds the answer',
      ],
      call_hash,
    },
    itemId: work.item.id,
    action: work.action,
    chain: work.chain.map(({ id: link }) => link),
    warnings: work.warnings,
  }
}
