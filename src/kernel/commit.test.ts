import { expect, test } from 'vitest'
import type { NewRecord } from '../store/journal.ts'
import { audit } from './audit.ts'
import type { Call, Outcome } from './call.ts'
import { commit } from './commit.ts'
import type { Means } from './means.ts'
import { newCall } from './new-call.ts'
import { readWork } from './read-work.ts'

const caller = { principal: 'p', session: 's', kind: 'agent' } as const
const ticket = { callId: 'c', operation: 'help', subject: 'x', parameters: {}, caller }
const DONE: Outcome = { status: 'success', data: {}, itemId: 'x', action: 'help', chain: [], warnings: [] }

function callOf(isReadOnly: boolean): Call {
  const work = { ...readWork(ticket, () => Promise.reject(new Error('not reached'))), isReadOnly }
  return { ...newCall(ticket, () => Promise.reject(new Error('not reached'))), work }
}

/** A journal that another process holds at first. */
function heldOnce(): { means: Means; records: NewRecord[] } {
  const records: NewRecord[] = []
  let isHeld = true
  const append = (given: readonly NewRecord[]): Promise<void> => {
    if (isHeld) {
      isHeld = false
      return Promise.reject(new Error('held'))
    }
    records.push(...given)
    return Promise.resolve()
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these two stages use, and no more
  const means = {
    store: { journal: { append } },
    clock: { now: () => 0, monotonic: () => 0 },
  } as unknown as Means
  return { means, records }
}

test('H7: a question whose decision could not be written at first has both its records in the end', async () => {
  const { means, records } = heldOnce()
  const call = callOf(true)
  await audit(call, () => commit(call, () => Promise.resolve(DONE), means), means)
  expect(call.warnings).toEqual([expect.stringContaining('could not be recorded')])
  expect(records).toMatchObject([
    { kind: 'decision', status: 'allow' },
    { kind: 'outcome', status: 'success' },
  ])
})

test('H7: anything else is refused, and the refusal is on record when that is possible again', async () => {
  const { means, records } = heldOnce()
  const call = callOf(false)
  await expect(
    audit(call, () => commit(call, () => Promise.reject(new Error('not reached')), means), means),
  ).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
  expect(records).toMatchObject([
    { kind: 'decision', status: 'deny' },
    { kind: 'outcome', status: 'denied' },
  ])
})

test.each(['ENOSPC', 'EIO', 'EROFS', 'SQLITE_FULL'])(
  'AUD-04: with %s nothing that changes things, or that a person has approved, is let through',
  async (code) => {
    let happened = 0
    const next = (): Promise<Outcome> => {
      happened += 1
      return Promise.resolve(DONE)
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the stage uses, and no more
    const means = {
      store: { journal: { append: () => Promise.reject(Object.assign(new Error(code), { code })) } },
      clock: { now: () => 0, monotonic: () => 0 },
    } as unknown as Means
    await expect(commit(callOf(false), next, means)).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
      retryable: true,
    })
    const approved = { ...callOf(true), approval: { id: 'a1', claim: null } }
    await expect(commit(approved, next, means)).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
    expect(happened).toBe(0)
    await commit(callOf(true), next, means)
    expect(happened).toBe(1)
  },
)
