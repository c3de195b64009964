import { KiwiError, messageOf } from '../shared/errors.ts'
import type { Call, Outcome } from './call.ts'
import type { Stage } from './gate.ts'
import type { Means } from './means.ts'
import type { NewRecord } from '../store/journal.ts'
import { decisionRecord, outcomeRecord } from './records.ts'

/** Stands outside of all others: whatever they do, a call has one decision and one outcome on record. */
export const audit: Stage = async (call, next, means) => {
  const started = means.clock.monotonic()
  try {
    const outcome = await next()
    const isRecorded = outcome.status === 'dry_run' || (await record(call, means, started, outcome))
    return isRecorded
      ? outcome
      : { ...outcome, warnings: [...outcome.warnings, 'the outcome could not be recorded'] }
  } catch (error) {
    const failure = error instanceof KiwiError ? error : unexpected(error, call)
    if (!call.isDryRun) await record(call, means, started, failure)
    throw failure
  }
}

/** What may be made again, and leaves nothing to be taken back: nobody waits until it is on record that it went well. */
function isLight({ work, decision }: Call, end: Outcome | KiwiError): boolean {
  const isHarmless = work?.isReadOnly === true || (work?.isRepeatable === true && work.undo === undefined)
  return isHarmless && decision === 'recorded' && !(end instanceof Error)
}

/** The call is over: a journal that cannot be written now changes nothing about it. */
async function record(
  call: Call,
  { store, clock, log, missed }: Means,
  started: number,
  end: Outcome | KiwiError,
): Promise<boolean> {
  const duration = Math.round(clock.monotonic() - started)
  const outcome = (): NewRecord => outcomeRecord(call, clock, duration, end)
  const unwritable = (error: unknown, records: readonly NewRecord[]): false => {
    missed.keep(records)
    log.error('journal.unwritable', { call_id: call.ticket.callId, reason: messageOf(error) })
    return false
  }
  if (isLight(call, end)) {
    void store.journal.appendLater(() => [outcome()]).catch((error) => unwritable(error, [outcome()]))
    return true
  }
  let records: readonly NewRecord[] = []
  try {
    const stopped = call.decision === 'open' ? end : undefined
    const decision = call.decision === 'recorded' ? [] : [decisionRecord(call, clock, stopped)]
    records = [...decision, outcome()]
    await store.journal.append(records, 'normal')
    return true
  } catch (error) {
    return unwritable(error, records)
  }
}

/** The gate fails closed: what it did not expect is a refusal; what the work did not expect is our fault. */
function unexpected(error: unknown, { decision, ticket }: Call): KiwiError {
  const code = decision === 'open' ? 'POLICY_ERROR' : 'INTERNAL'
  return new KiwiError(code, `Cannot run "${ticket.subject}": ${messageOf(error)}`, { cause: error })
}
