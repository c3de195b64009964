import { KiwiError } from '../shared/errors.ts'
import type { Approval } from '../store/approvals.ts'
import type { Call } from './call.ts'
import type { Means } from './means.ts'
import type { Verdict } from './policy/rule.ts'

/** A clock that went back by more says nothing about how old a row is. */
const CLOCK_SLACK_MS = 60_000

/** The run a call belongs to, else its connection: what a yes for more than one call lasts as long as. */
export function sessionOf({ run, ticket }: Call): string {
  return run?.id ?? ticket.caller.session
}

/** Whether it is no one client's: a yes for more than this one call would be good for the others, too. */
export function isOfMany({ run, ticket }: Pick<Call, 'run' | 'ticket'>): boolean {
  return run === null && ticket.caller.isShared === true
}

/** Nobody answered while there was time, or the answer was not used while there was. */
export function isExpired({ created_at, expires_at }: Approval, now: number): boolean {
  return now >= expires_at || now < created_at - CLOCK_SLACK_MS
}

/**
 * What a person said about this very call, or about calls like it: an approval, an open question, or null. A no is
 * thrown, and so is once that nobody answered in time.
 */
export async function findAnswer(
  call: Call,
  hash: string,
  asks: readonly Verdict[],
  means: Means,
): Promise<Approval | null> {
  const { store, clock } = means
  const now = clock.now()
  const rows = await sealedOnly(
    await store.approvals.list({ call_hash: hash, states: ['pending', 'approved', 'rejected'], limit: 20 }),
    means,
  )
  const living = rows.filter((row) => !isExpired(row, now))
  const no = living.find(({ state }) => state === 'rejected')
  if (no !== undefined) throw no.replaced_by === null ? rejected(call, no) : await replaced(call, no, means)
  const yes = living.find(({ state }) => state === 'approved') ?? (await findGrant(call, asks, means))
  if (yes !== null) return yes
  const late = rows.filter((row) => row.state !== 'rejected' && isExpired(row, now))
  const isSaid = await Promise.all(late.map(({ id }) => store.approvals.expire(id)))
  const [first] = late.filter((_, at) => isSaid[at])
  if (first !== undefined) throw timedOut(call, first)
  return living[0] ?? null
}

/** A row that somebody wrote into the store is no question and no answer. */
async function sealedOnly(
  rows: readonly Approval[],
  { approver, store, log }: Means,
): Promise<readonly Approval[]> {
  const areSealed = await Promise.all(rows.map((row) => approver.isSealed(row)))
  for (const [at, row] of rows.entries()) {
    if (areSealed[at] === true) continue
    log.warn('approval.not_ours', { approval_id: row.id, state: row.state })
    await store.approvals.expire(row.id)
  }
  return rows.filter((_, at) => areSealed[at])
}

/** A person's yes for the whole session or run, where one client has it: the same tool in the same content, for every rule that asks now. */
async function findGrant(
  call: Call,
  asks: readonly Verdict[],
  { approver, store, clock }: Means,
): Promise<Approval | null> {
  const { ticket, work } = call
  const { principal } = ticket.caller
  if (isOfMany(call)) return null
  const session = sessionOf(call)
  const rows = await store.approvals.list({ session, states: ['approved'], limit: 100 })
  for (const row of rows) {
    const isFor = row.scope === 'run' && row.principal === principal && row.tool === work?.item.id
    if (!isFor || row.digest !== (work.digest ?? null) || isExpired(row, clock.now())) continue
    const said = row.summary['asks']
    const isCovered = asks.every(({ layer, rule }) => covers(said, layer, rule))
    if (isCovered && (await approver.isSealed(row))) return row
  }
  return null
}

function covers(said: unknown, layer: string, rule: string | null): boolean {
  return Array.isArray(said) && said.some((ask) => ask?.layer === layer && ask?.rule === rule)
}

function rejected({ ticket }: Call, { id, decided_by, reason }: Approval): KiwiError {
  const why = reason === null ? '' : `: ${reason}`
  return new KiwiError(
    'APPROVAL_REJECTED',
    `Cannot run "${ticket.subject}": ${decided_by ?? 'a person'} said no${why}`,
    { details: { approval_id: id, by: decided_by, reason } },
  )
}

/** The person gave the call other arguments: that call is approved, this one is not. */
async function replaced({ ticket }: Call, no: Approval, { store }: Means): Promise<KiwiError> {
  const [other] = await store.approvals.list({ prefix: no.replaced_by ?? '', limit: 1 })
  const parameters = other?.summary['parameters'] ?? null
  return new KiwiError(
    'APPROVAL_MISMATCH',
    `Cannot run "${ticket.subject}" with these arguments: ${no.decided_by ?? 'a person'} approved it with others`,
    {
      details: { approval_id: no.replaced_by, by: no.decided_by, reason: no.reason, parameters },
      fix: {
        call: 'execute',
        arguments: { item_type: 'tool', action: 'run', item_id: ticket.subject, parameters },
      },
    },
  )
}

function timedOut({ ticket }: Call, { id, state }: Approval): KiwiError {
  const what = state === 'pending' ? 'nobody answered in time' : 'the approval was not used in time'
  return new KiwiError('APPROVAL_TIMEOUT', `Cannot run "${ticket.subject}": ${what}`, {
    details: { approval_id: id },
  })
}
