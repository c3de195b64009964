import { KiwiError, messageOf } from '../shared/errors.ts'
import { decisionRecord } from './records.ts'
import type { Stage } from './gate.ts'

/** The decision is on disk before the effect happens. Without a record there is no effect. */
export const commit: Stage = async (call, next, { store, clock }) => {
  const { work, ticket, approval } = call
  const claim = approval?.claim ?? undefined
  if (work === null) throw new TypeError('a call came to be committed before it was worked out')
  try {
    const sync = work.isRepeatable && approval === null ? 'normal' : 'full'
    await store.journal.append([decisionRecord(call, clock)], sync, claim)
    call.decision = 'recorded'
  } catch (error) {
    if (error instanceof KiwiError && error.code === 'APPROVAL_USED') throw error
    if (!work.isReadOnly || approval !== null) {
      const why = messageOf(error).replace(/^Cannot /, 'cannot ')
      throw new KiwiError(
        'AUDIT_UNAVAILABLE',
        `Cannot ${work.action} "${ticket.subject}" without a record of it: ${why}`,
        { cause: error },
      )
    }
    call.warnings.push('this call could not be recorded: the journal cannot be written')
    call.decision = 'made'
  }
  return next()
}
