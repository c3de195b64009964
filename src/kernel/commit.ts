import { KiwiError, messageOf } from '../shared/errors.ts'
import { decisionRecord } from './records.ts'
import type { Stage } from './gate.ts'

/** The decision is on disk before the effect happens. Without a record there is no effect. */
export const commit: Stage = async (call, next, { store, clock }) => {
  const { work, ticket } = call
  if (work === null) throw new TypeError('a call came to be committed before it was worked out')
  try {
    await store.journal.append([decisionRecord(call, clock.now())], work.isRepeatable ? 'normal' : 'full')
  } catch (error) {
    if (!work.isReadOnly) {
      const why =
        error instanceof KiwiError && error.code === 'STORE_FULL' ? 'the disk is full' : messageOf(error)
      throw new KiwiError(
        'AUDIT_UNAVAILABLE',
        `Cannot run "${ticket.subject}": it cannot be recorded, ${why}`,
        {
          cause: error,
        },
      )
    }
    call.warnings.push('this call could not be recorded: the journal cannot be written')
  }
  call.isDecided = true
  return next()
}
