import { hostname } from 'node:os'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import type { JournalRecord, NewRecord } from '../store/store.ts'
import type { Means } from './means.ts'

/** Which process decided: the calls of one that is gone will not end any more. */
export const OWN_PROCESS = `${hostname()}:${process.pid}`

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
    const lost = (await store.journal.unfinished()).filter(isLost)
    for (const record of lost) await settle(record, clock.now(), store)
  } catch (error) {
    log.warn('journal.unsettled', { reason: messageOf(error) })
  }
}

async function settle(decision: JournalRecord, wall: number, store: Means['store']): Promise<void> {
  const { call_id, session, principal, operation, tool } = decision
  const outcome: NewRecord = {
    kind: 'outcome',
    call_id,
    session,
    principal,
    operation,
    tool,
    status: 'unknown',
    wall,
    body: { code: 'OUTCOME_UNKNOWN', message: 'Kiwi was ended during the call' },
  }
  try {
    await store.journal.append([outcome], 'normal')
  } catch (error) {
    // Another process that was started at the same time said it first.
    if (!(error instanceof KiwiError && error.code === 'CONFLICT')) throw error
  }
}

function isLost({ body, wall }: JournalRecord): boolean {
  const [, host, pid] = /^(.*):(\d+)$/.exec(textOf(body['process'] ?? '')) ?? []
  if (host !== hostname()) return false
  // A number is given to one process after another; before our own start it belonged to somebody else.
  if (Number(pid) === process.pid) return wall < performance.timeOrigin
  return !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
