import { KiwiError, messageOf } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import type { JournalRecord, NewRecord } from '../store/journal.ts'
import type { Means } from './means.ts'
import { isLiving, readTag } from '../shared/own-process.ts'

/**
 * Calls that were cut off when their process was killed end here, as unknown: whether they took effect only a person
 * or a look at the world can tell.
 */
export async function settleLostCalls({
  store,
  clock,
  log,
}: Pick<Means, 'store' | 'clock' | 'log'>): Promise<void> {
  try {
    const lost = (await store.journal.unfinished()).filter((record) => isLost(record, clock.now()))
    for (const record of lost) await settle(record, { store, clock })
  } catch (error) {
    log.warn('journal.unsettled', { reason: messageOf(error) })
  }
}

async function settle(
  decision: JournalRecord,
  { store, clock }: Pick<Means, 'store' | 'clock'>,
): Promise<void> {
  const { call_id, session, parent_session, principal, operation, tool, body } = decision
  const { project = null, group = null } = body
  const outcome: NewRecord = {
    kind: 'outcome',
    call_id,
    session,
    parent_session,
    principal,
    operation,
    tool,
    status: 'unknown',
    wall: clock.now(),
    mono: clock.monotonic(),
    body: { project, group, code: 'OUTCOME_UNKNOWN', message: 'Kiwi was ended during the call' },
  }
  try {
    await store.journal.append([outcome], 'normal')
  } catch (error) {
    // Another process that was started at the same time said it first.
    if (!(error instanceof KiwiError && error.code === 'CONFLICT')) throw error
  }
}

/** A call of a container that is gone or cannot be seen: no call lasts that long. */
const LONGEST_MS = 24 * 60 * 60 * 1000

function isLost({ body, wall }: JournalRecord, now: number): boolean {
  const tag = readTag(textOf(body['process'] ?? ''))
  return tag !== null && !(isLiving(tag) ?? now - wall < LONGEST_MS)
}
