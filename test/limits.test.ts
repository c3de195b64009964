import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { budget } from '../src/kernel/budget.ts'
import type { Call, Outcome } from '../src/kernel/call.ts'
import type { Means } from '../src/kernel/means.ts'
import { newCall } from '../src/kernel/new-call.ts'
import type { Policy, RateLimit } from '../src/kernel/policy/policy.ts'
import { rate } from '../src/kernel/rate.ts'
import { readWork } from '../src/kernel/read-work.ts'
import { createLog } from '../src/shared/log.ts'
import type { StoreFolder } from './fixtures/store-folder.ts'
import { makeStoreFolder } from './fixtures/store-folder.ts'

let place: StoreFolder
let means: Means
let now = 1_800_000_000_000
beforeEach(async () => {
  place = await makeStoreFolder()
  const clock = { now: () => now, monotonic: () => now }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these two stages use, and no more
  means = {
    store: await place.open(),
    clock,
    log: createLog({ level: 'silent', clock, write: () => {} }),
  } as unknown as Means
})
afterEach(() => place.dispose())

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these two stages read of it, and no more
const POLICY = { layers: [], rateLimits: [], callBudget: null } as unknown as Policy
const DONE: Outcome = { status: 'success', data: {}, itemId: 'x', action: 'run', chain: [], warnings: [] }

interface Given {
  readonly policy?: Partial<Policy>
  readonly principal?: string
  readonly session?: string
  readonly run?: string
  readonly of?: { readonly server: string; readonly tool: string }
  readonly operation?: string
}

function callOf(given: Given): Call {
  const { principal = 'ada', session = 's', operation = 'execute.run' } = given
  const of = given.of ?? { server: 'supabase', tool: 'query' }
  const ticket = {
    callId: 'c',
    operation,
    subject: 'x',
    parameters: {},
    caller: { principal, session, kind: 'agent' } as const,
    ...(given.run === undefined ? {} : { runId: given.run }),
  }
  const notReached = (): Promise<never> => Promise.reject(new Error('not reached'))
  const work = {
    ...readWork(ticket, notReached),
    demands: [{ op: 'tool' as const, id: 'x', action: 'run', of }],
  }
  return { ...newCall(ticket, notReached), work, policy: { ...POLICY, ...given.policy } }
}

function letThrough(call: Call): Call {
  return { ...call, decision: 'recorded' }
}

describe('H8: rate limits', () => {
  const limit: RateLimit = {
    id: 'user/mcps.supabase/rate_limit',
    file: '/user/agent_harness.yaml',
    speaksOf: (demand) => demand.op === 'tool' && demand.of?.server === 'supabase',
    per: 'principal',
    count: 100,
    windowMs: 60_000,
  }
  const make = (given: Given = {}, limits = [limit]): Promise<Outcome> =>
    rate(letThrough(callOf({ ...given, policy: { rateLimits: limits } })), () => Promise.resolve(DONE), means)

  test('H8: call 101 of 100/minute is RATE_LIMITED, and says when to come again', async () => {
    for (let n = 0; n < 100; n++) {
      expect(await make()).toBe(DONE)
      now += 10
    }
    await expect(make()).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Cannot run "x": "user/mcps.supabase/rate_limit" allows 100 in 60 s, and 100 were made',
      hint: 'Wait 59 s, then send the call again',
      details: {
        layer: 'user',
        rule: 'user/mcps.supabase/rate_limit',
        limit: 100,
        window: 60,
        used: 100,
        retry_after: 59,
        required: expect.stringContaining('agent_harness.yaml'),
      },
    })
    now += 59_000
    expect(await make()).toBe(DONE)
  })

  test('H8: each principal has its own, another server is not spoken of, and a tool may have one by itself', async () => {
    const narrow: RateLimit = {
      ...limit,
      id: 'project/mcps.supabase/rate_limits/migrate',
      speaksOf: (demand) => demand.op === 'tool' && demand.of?.tool === 'migrate',
      count: 1,
    }
    const migrate = { server: 'supabase', tool: 'migrate' }
    const limits = [{ ...limit, count: 3 }, narrow]
    expect(await make({ of: migrate }, limits)).toBe(DONE)
    await expect(make({ of: migrate }, limits)).rejects.toMatchObject({
      details: { rule: narrow.id, limit: 1 },
    })
    expect(await make({}, limits)).toBe(DONE)
    expect(await make({}, limits)).toBe(DONE)
    await expect(make({}, limits)).rejects.toMatchObject({ details: { rule: limit.id } })
    expect(await make({ principal: 'bob' }, limits)).toBe(DONE)
    for (let n = 0; n < 5; n++)
      expect(await make({ of: { server: 'github', tool: 'query' } }, limits)).toBe(DONE)
  })

  test('H8: where it says so, each session and each run has its own', async () => {
    const limits = [{ ...limit, count: 1, per: 'session' as const }]
    expect(await make({ session: 'a' }, limits)).toBe(DONE)
    await expect(make({ session: 'a' }, limits)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await expect(make({ session: 'a', principal: 'bob' }, limits)).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    })
    expect(await make({ session: 'b' }, limits)).toBe(DONE)
    expect(await make({ session: 'a', run: 'r' }, limits)).toBe(DONE)
    await expect(make({ session: 'b', run: 'r' }, limits)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('H8: a call that fails later counts', async () => {
    const one = { ...limit, count: 1 }
    const call = callOf({ policy: { rateLimits: [one] } })
    const failing = rate(
      call,
      () => {
        call.decision = 'recorded'
        return Promise.reject(new Error('later'))
      },
      means,
    )
    await expect(failing).rejects.toThrow('later')
    await expect(make({}, [one])).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('H8, H9: one that waits for a person, or is refused behind it, does not, however often it is sent', async () => {
    const one = { ...limit, count: 1 }
    const waits: Outcome = { ...DONE, status: 'approval_required' }
    const call = (): Call => callOf({ policy: { rateLimits: [one] } })
    for (let n = 0; n < 5; n++) {
      expect(await rate(call(), () => Promise.resolve(waits), means)).toBe(waits)
      const refused = rate(call(), () => Promise.reject(new Error('no')), means)
      await expect(refused).rejects.toThrow('no')
    }
    expect(await make({}, [one])).toBe(DONE)
    await expect(make({}, [one])).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  })
})

describe('PRM-07: budgets', () => {
  const make = (given: Given, end: (call: Call) => Promise<Outcome>): Promise<Outcome> => {
    const call = callOf({ ...given, policy: { callBudget: 2 } })
    return budget(call, () => end(call), means)
  }
  const performed = (call: Call): Promise<Outcome> => {
    call.decision = 'recorded'
    return Promise.resolve(DONE)
  }

  test('PRM-07: a session makes as many calls as it was given, then BUDGET_EXCEEDED says who raises it', async () => {
    await make({}, performed)
    const failed = make({}, (call) => performed(call).then(() => Promise.reject(new Error('it failed'))))
    await expect(failed).rejects.toThrow('it failed')
    await expect(make({}, performed)).rejects.toMatchObject({
      code: 'BUDGET_EXCEEDED',
      details: { rule: 'budgets.tool_calls', cap: 2, used: 2, required: expect.stringContaining('raises') },
    })
    expect(await make({ session: 'another' }, performed)).toBe(DONE)
    expect(await make({ operation: 'search' }, performed)).toBe(DONE)
  })

  test('PRM-07: a call that was not let through gives back what was set aside for it', async () => {
    for (let n = 0; n < 5; n++) {
      await expect(make({}, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    }
    expect(await make({}, performed)).toBe(DONE)
  })

  test('PRM-07: calls under way at once count too', async () => {
    const waiting = [make({}, () => new Promise(() => {})), make({}, () => new Promise(() => {}))]
    await expect
      .poll(async () =>
        means.store.limits.reserve({ holder: 's', kind: 'tool_calls', cap: 2, amount: 1 }, now),
      )
      .toMatchObject({ reserved: 2 })
    await expect(make({}, performed)).rejects.toMatchObject({ details: { cap: 2, used: 2 } })
    expect(waiting).toHaveLength(2)
  })
})
