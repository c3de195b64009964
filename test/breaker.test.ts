import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { breaker } from '../src/kernel/breaker.ts'
import type { Call, Outcome, Work } from '../src/kernel/call.ts'
import { endings } from '../src/kernel/endings.ts'
import type { Means } from '../src/kernel/means.ts'
import { newCall } from '../src/kernel/new-call.ts'
import type { Policy } from '../src/kernel/policy/policy.ts'
import { readWork } from '../src/kernel/read-work.ts'
import { openStreaks } from '../src/kernel/streaks.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { ErrorCode } from '../src/shared/errors.ts'
import { KiwiError } from '../src/shared/errors.ts'
import type { StoreFolder } from './fixtures/store-folder.ts'
import { makeStoreFolder } from './fixtures/store-folder.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

let place: StoreFolder
let means: Means
beforeEach(async () => {
  place = await makeStoreFolder()
  means = await restarted()
})
afterEach(() => place.dispose())

/** What a server that was started anew on the same store knows. */
async function restarted(): Promise<Means> {
  const store = await place.open()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these two stages use, and no more
  return { streaks: openStreaks(store, systemClock) } as unknown as Means
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a hash is made of, and no more
const POLICY = { layers: [] } as unknown as Policy

interface Given {
  readonly runId?: string
  readonly session?: string
  readonly kind?: 'agent' | 'person'
  readonly parameters?: object
  readonly work?: Partial<Work>
  /** What it ends with: data, or a refusal by this code. */
  readonly gives?: string
  readonly refusedBy?: ErrorCode
  readonly isApproved?: boolean
}

/** One call through both stages: the rule that asks, or null when none does. What is asked about does not run. */
async function made(given: Given = {}): Promise<string | null> {
  const { runId, session = 's', kind = 'agent', parameters = {}, gives = '', refusedBy } = given
  const ticket = {
    callId: 'c',
    operation: 'execute.run',
    subject: 'x',
    parameters,
    caller: { principal: 'p', session, kind },
    ...(runId === undefined ? {} : { runId }),
  }
  const notReached = (): Promise<never> => Promise.reject(new Error('not reached'))
  const isQuestion = given.work?.isReadOnly === true
  const bare = { ...readWork(ticket, notReached), isReadOnly: false, isRepeatable: false, isQuestion }
  const work = { ...bare, ...given.work }
  const call: Call = { ...newCall(ticket, notReached), work, policy: POLICY }
  const demand = work.demands[0] ?? { op: 'tool', id: 'x', action: 'run' }
  let asked: string | null = null
  const perform = (): Promise<Outcome> => {
    const { verdict } = call
    asked = verdict?.effect === 'ask' ? verdict.rule : null
    const outcome = { data: { gives }, itemId: 'x', action: 'run', chain: [], warnings: [] }
    if (asked !== null && given.isApproved !== true)
      return Promise.resolve({ ...outcome, status: 'approval_required' })
    if (asked !== null) call.approval = { id: 'a', claim: null }
    call.decision = 'recorded'
    return Promise.resolve({ ...outcome, status: 'success' })
  }
  const judged = (): Promise<Outcome> => {
    if (refusedBy !== undefined) throw new KiwiError(refusedBy, 'Cannot run "x": no')
    call.verdict = {
      effect: 'allow',
      layer: 'machine',
      rule: 'all',
      demand,
      remedy: '',
      required: null,
      reason: null,
    }
    return breaker(call, perform, means)
  }
  await endings(call, async () => judged(), means).catch(() => null)
  return asked
}
const many = async (count: number, given: Given = {}): Promise<readonly (string | null)[]> => {
  const asked: (string | null)[] = []
  for (let n = 0; n < count; n++) asked.push(await made(given))
  return asked
}
const REPEATED = 'breaker/repeated'
const DENIALS = 'breaker/denials'

describe('three identical calls ask', () => {
  test('the third call of a session that came to the same end twice is asked about, and so is each after it', async () => {
    expect(await many(5)).toEqual([null, null, REPEATED, REPEATED, REPEATED])
    expect(await many(1, { session: 'another' })).toEqual([null])
  })

  test('other parameters, another end, or another call between them are no loop in a session', async () => {
    expect(await many(2)).toEqual([null, null])
    expect(await made({ parameters: { a: 1 } })).toBeNull()
    expect(await many(2)).toEqual([null, null])
    for (const gives of ['1', '2', '3', '4'])
      expect(await made({ parameters: { poll: 1 }, gives })).toBeNull()
  })

  test('in a run the third is asked about whatever came of them', async () => {
    for (const gives of ['1', '2']) expect(await made({ runId: 'r', gives })).toBeNull()
    expect(await made({ runId: 'r', gives: '3' })).toBe(REPEATED)
  })

  test('BEN-10: 200 identical harmless calls pass, in a session and in a run', async () => {
    const nobody = Array.from({ length: 200 }, () => null)
    for (const work of [
      { isReadOnly: true },
      { isReadOnly: true, isQuestion: false },
      { isRepeatable: true },
    ]) {
      expect(await many(200, { work })).toEqual(nobody)
      expect(await many(200, { work, runId: 'r' })).toEqual(nobody)
    }
  })

  test('a person at the command line repeats what they like', async () => {
    expect(await many(4, { kind: 'person' })).toEqual([null, null, null, null])
  })

  test('what is asked about and approved runs; the next is asked about again', async () => {
    await many(2)
    expect(await made({ isApproved: true })).toBe(REPEATED)
    expect(await made()).toBe(REPEATED)
  })

  test('a server that was started anew knows of runs, and begins anew with sessions', async () => {
    await many(2)
    await many(2, { runId: 'r' })
    means = await restarted()
    expect(await made({ runId: 'r' })).toBe(REPEATED)
    expect(await made()).toBeNull()
  })
})

describe('denials park', () => {
  const refused: Given = { refusedBy: 'PERMISSION_DENIED', parameters: { no: 1 } }

  test('after three in a row in a run everything that is not read-only is asked about', async () => {
    await many(2, { ...refused, runId: 'r' })
    expect(await made({ ...refused, runId: 'r' })).toBeNull()
    expect(await made({ runId: 'r', parameters: { a: 1 } })).toBe(DENIALS)
    expect(await made({ runId: 'r', work: { isReadOnly: true } })).toBeNull()
  })

  test('after ten in a row in a session too, until a person approves one', async () => {
    await many(9, refused)
    expect(await made({ session: 'fewer', parameters: { a: 1 } })).toBeNull()
    await made(refused)
    expect(await made({ parameters: { a: 1 } })).toBe(DENIALS)
    expect(await made({ work: { isReadOnly: true } })).toBeNull()
    expect(await made({ session: 'another' })).toBeNull()
    expect(await made({ parameters: { a: 1 }, isApproved: true })).toBe(DENIALS)
    expect(await made({ parameters: { a: 2 } })).toBeNull()
  })

  test('a call that runs between them ends the row; questions do not, nor does what was wrong by itself', async () => {
    await many(9, refused)
    await made({ parameters: { a: 1 } })
    await many(5, refused)
    await made({ work: { isReadOnly: true } })
    await made({ refusedBy: 'RATE_LIMITED' })
    expect(await made({ parameters: { a: 2 } })).toBeNull()
    await many(4, refused)
    await many(5, { session: 'row', ...refused })
    await many(4, { session: 'row', ...refused })
    await made({ session: 'row', work: { isReadOnly: true } })
    await made({ session: 'row', refusedBy: 'APPROVAL_REJECTED' })
    expect(await made({ session: 'row', parameters: { a: 3 } })).toBe(DENIALS)
  })

  test('what is refused to read counts among all, and is no part of a row; a question is neither', async () => {
    const reading = { isReadOnly: true, isQuestion: false }
    for (const within of [{ runId: 'r' }, {}]) {
      await many(2, { ...within, ...refused })
      await many(17, { ...within, ...refused, work: reading })
      await many(20, { ...within, ...refused, work: { isReadOnly: true } })
      expect(await made({ ...within, parameters: { a: 1 } })).toBeNull()
      await made({ ...within, ...refused, work: reading })
      expect(await made({ ...within, parameters: { a: 2 } })).toBe(DENIALS)
      expect(await made({ ...within, work: reading })).toBeNull()
    }
  })

  test('twenty in all park too, in a run as well, and a new server does not forget those of a run', async () => {
    for (let n = 0; n < 20; n++) {
      expect(await made({ runId: 'r', parameters: { n } })).toBeNull()
      await made({ ...refused, runId: 'r' })
    }
    means = await restarted()
    expect(await made({ runId: 'r', parameters: { last: 1 } })).toBe(DENIALS)
  })
})

test('BEN-10: through the four tools, harmless calls pass and a third identical one that changes things waits', async () => {
  const temp = await openTempKiwi()
  try {
    await temp.create('harmless', { ...BASH, mutates_state: false }, { 'main.sh': 'echo same' })
    await temp.create('harmful', BASH, { 'main.sh': 'echo same' })
    for (let n = 0; n < 10; n++) expect((await temp.run('harmless')).status).toBe('success')
    const replies = [await temp.run('harmful'), await temp.run('harmful'), await temp.run('harmful')]
    expect(replies.map(({ status }) => status)).toEqual(['success', 'success', 'approval_required'])
    expect(JSON.stringify(replies[2]?.data)).toContain(REPEATED)
    // Each of them can be undone, by an id of its own.
    const append = { argv: ['tee', '-a', 'log'], input: 'same' }
    const appended = [
      await temp.run('shell.run', append),
      await temp.run('shell.run', append),
      await temp.run('shell.run', append),
    ]
    expect(appended.map(({ status }) => status)).toEqual(['success', 'success', 'approval_required'])
    expect(appended[1]?.data).toHaveProperty('undo_id')
  } finally {
    await temp.close()
  }
})
