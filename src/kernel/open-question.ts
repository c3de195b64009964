import { KiwiError } from '../shared/errors.ts'
import type { Approval } from '../store/approvals.ts'
import type { Answer, Ticket } from './call.ts'
import { isExpired } from './find-answer.ts'
import type { Means } from './means.ts'

export const STATES = { approve: 'approved', deny: 'rejected' } as const

/** The question that is answered, as long as it may be answered so, by this person, from here. */
export async function openQuestion(answer: Answer, { caller }: Ticket, means: Means): Promise<Approval> {
  const { approval: id, decision } = answer
  const [row] = await means.store.approvals.list({ prefix: id, limit: 1 })
  if (row === undefined || row.id !== id) {
    throw new KiwiError('NOT_FOUND', `Cannot ${decision} "${id}": nobody has asked that`, {
      hint: 'kiwi approvals lists what waits',
    })
  }
  const cannot = (code: 'APPROVAL_USED' | 'APPROVAL_TIMEOUT', why: string): KiwiError =>
    new KiwiError(code, `Cannot ${decision} "${id}": ${why}`, { details: { approval_id: id } })
  const forbidden = (why: string, hint: string): KiwiError =>
    new KiwiError('PERMISSION_DENIED', `Cannot ${decision} "${id}": ${why}`, {
      hint,
      details: { layer: 'machine', rule: 'person-only', op: 'tool', resource: decision, approval_id: id },
    })
  if (row.state === 'used') throw cannot('APPROVAL_USED', 'the call was made')
  if (row.state === 'expired' || isExpired(row, means.clock.now()))
    throw cannot('APPROVAL_TIMEOUT', 'it was not answered in time; the same call asks again')
  if (!(await means.approver.isSealed(row)))
    throw forbidden(
      'it was not asked by Kiwi, or was changed since',
      'Have the same call sent again: it asks anew',
    )
  const stranger = whyNotFrom(answer, row.principal === caller.principal)
  if (stranger !== null) throw forbidden(stranger, `Answer at a terminal: kiwi ${decision} ${id}`)
  if (!isAsSeen(answer, row)) throw answered(answer, row)
  return row
}

/** A client answers for its own calls only; a program with the key never for those of whoever runs it. */
function whyNotFrom({ channel }: Answer, isOwn: boolean): string | null {
  if (channel === 'client' && !isOwn) return 'another client has asked that'
  return channel === 'key' && isOwn ? 'whoever asks does not answer' : null
}

/** The first answer stands; only a person who has seen it changes their mind, and only where nothing ran yet. */
function isAsSeen({ seen, decision, channel }: Answer, { mac, state }: Approval): boolean {
  const mayChange = state === 'pending' || (channel === 'terminal' && state !== STATES[decision])
  return mac === seen && mayChange
}

function answered({ approval: id, decision }: Answer, { state, decided_by }: Approval): KiwiError {
  const said =
    state === 'approved' ? 'has approved it' : state === 'rejected' ? 'has said no' : 'has answered it'
  return new KiwiError('CONFLICT', `Cannot ${decision} "${id}": ${decided_by ?? 'somebody'} ${said}`, {
    hint: `Look at it again: kiwi approvals ${id}`,
    details: { approval_id: id, state, by: decided_by },
  })
}
