import { expect } from 'vitest'
import type { Cases } from './store-bed.ts'

const window = { key: 'user/mcps.a/rate_limit me', count: 3, windowMs: 1000 }
const NOW = 1_800_000_000_000

export const windowCases: Cases = {
  async 'H8: a window lets so many through, over all handles, and says when there is room again'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    expect(await store.limits.take([window], NOW)).toBeNull()
    expect(await other.limits.take([window], NOW + 100)).toBeNull()
    expect(await store.limits.take([window], NOW + 200)).toBeNull()
    expect(await other.limits.take([window], NOW + 300)).toEqual({ ...window, used: 3, retryAfterMs: 700 })
    expect(await store.limits.take([{ ...window, key: 'another' }], NOW + 300)).toBeNull()
  },

  async 'H8: it slides, and what was refused does not count'(bed) {
    const { limits } = await bed.open()
    for (const at of [0, 400, 800]) expect(await limits.take([window], NOW + at)).toBeNull()
    for (const at of [850, 900, 999]) expect(await limits.take([window], NOW + at)).not.toBeNull()
    expect(await limits.take([window], NOW + 1000)).toBeNull()
    expect(await limits.take([window], NOW + 1001)).toMatchObject({ retryAfterMs: 399 })
    expect(await limits.take([window], NOW + 1400)).toBeNull()
  },

  async 'H8: a use counts in all of its windows or in none'(bed) {
    const { limits } = await bed.open()
    const narrow = { key: 'narrow', count: 1, windowMs: 5000 }
    expect(await limits.take([window, narrow], NOW)).toBeNull()
    expect(await limits.take([window, narrow], NOW + 1)).toMatchObject({ key: 'narrow', used: 1 })
    expect(await limits.take([window], NOW + 2)).toBeNull()
    expect(await limits.take([window], NOW + 3)).toBeNull()
    expect(await limits.take([window, narrow], NOW + 4)).toMatchObject({ key: 'narrow', retryAfterMs: 4996 })
  },

  async 'H8: a use that is given back leaves its place, one place for each'(bed) {
    const { limits } = await bed.open()
    for (let n = 0; n < 3; n++) expect(await limits.take([window], NOW)).toBeNull()
    await limits.giveBack([window], NOW)
    expect(await limits.take([window], NOW + 1)).toBeNull()
    expect(await limits.take([window], NOW + 1)).toMatchObject({ used: 3 })
    await limits.giveBack([{ ...window, key: 'another' }], NOW)
    expect(await limits.take([window], NOW + 2)).toMatchObject({ used: 3 })
  },

  async 'H8: a limit that was lowered holds at once'(bed) {
    const { limits } = await bed.open()
    for (const at of [0, 100, 200]) await limits.take([window], NOW + at)
    const lower = { ...window, count: 1 }
    expect(await limits.take([lower], NOW + 300)).toMatchObject({ used: 3, retryAfterMs: 900 })
  },

  async 'H8: a clock that is put back neither locks out for longer than a window nor lets more through'(bed) {
    const { limits } = await bed.open()
    for (let n = 0; n < 3; n++) await limits.take([window], NOW)
    const before = NOW - 10 * 365 * 24 * 60 * 60 * 1000
    expect(await limits.take([window], before)).toMatchObject({ used: 3, retryAfterMs: 1000 })
    expect(await limits.take([window], before + 999)).toMatchObject({ used: 3, retryAfterMs: 1 })
    for (let n = 0; n < 3; n++) expect(await limits.take([window], before + 1000)).toBeNull()
    expect(await limits.take([window], before + 1000)).not.toBeNull()
  },
}

const calls = { holder: 'session', kind: 'tool_calls' }

export const budgetCases: Cases = {
  async 'PRM-07: what is spent and set aside never exceeds the cap, and what was set aside comes back'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const one = { ...calls, cap: 2, amount: 1 }
    expect(await store.limits.reserve(one, NOW)).toBeNull()
    expect(await other.limits.reserve(one, NOW)).toBeNull()
    expect(await store.limits.reserve(one, NOW)).toEqual({ cap: 2, spent: 0, reserved: 2 })
    await other.limits.settle(calls, 1, 1)
    expect(await store.limits.reserve(one, NOW)).toEqual({ cap: 2, spent: 1, reserved: 1 })
    await other.limits.settle(calls, 1, 0)
    expect(await store.limits.reserve(one, NOW)).toBeNull()
    expect(await store.limits.reserve({ ...one, holder: 'another' }, NOW)).toBeNull()
    expect(await store.limits.reserve({ ...one, holder: 'third', cap: 0 }, NOW)).toMatchObject({ cap: 0 })
  },

  async 'PRM-07: a cap that was raised holds from then on'(bed) {
    const { limits } = await bed.open()
    await limits.reserve({ ...calls, cap: 1, amount: 1 }, NOW)
    expect(await limits.reserve({ ...calls, cap: 1, amount: 1 }, NOW)).not.toBeNull()
    expect(await limits.reserve({ ...calls, cap: 2, amount: 1 }, NOW)).toBeNull()
  },

  async 'PRM-07: children live on what their parent has, and give back what they leave'(bed) {
    const { limits } = await bed.open()
    const child = { holder: 'child', kind: 'tool_calls', cap: 6, amount: 0 }
    expect(await limits.divide(calls, child, NOW)).toBe(false)
    await limits.reserve({ ...calls, cap: 10, amount: 1 }, NOW)
    expect(await limits.divide(calls, child, NOW)).toBe(true)
    expect(await limits.divide(calls, child, NOW)).toBe(false)
    expect(await limits.divide(calls, { ...child, holder: 'second' }, NOW)).toBe(false)
    // However large the cap a caller claims, the child has what it was given.
    expect(await limits.reserve({ ...child, cap: 100, amount: 7 }, NOW)).toMatchObject({ spent: 0 })
    expect(await limits.reserve({ ...child, amount: 2 }, NOW)).toBeNull()
    await limits.settle(child, 2, 2)
    await limits.reunite(child)
    await limits.reunite(child)
    // 1 is still set aside, 2 are spent.
    expect(await limits.reserve({ ...calls, cap: 10, amount: 8 }, NOW)).toEqual({
      cap: 10,
      spent: 2,
      reserved: 1,
    })
    expect(await limits.reserve({ ...calls, cap: 10, amount: 7 }, NOW)).toBeNull()
  },

  async 'what nobody used for a month is forgotten'(bed) {
    const { limits } = await bed.open()
    const later = NOW + 31 * 24 * 60 * 60 * 1000
    await limits.reserve({ ...calls, cap: 1, amount: 1 }, NOW)
    await limits.setStreak('run', 'a', NOW)
    expect(await limits.streak('run')).toBe('a')
    await limits.reserve({ ...calls, holder: 'new', cap: 1, amount: 1 }, later)
    await limits.setStreak('new', 'b', later)
    expect(await limits.reserve({ ...calls, cap: 1, amount: 1 }, later)).toBeNull()
    expect([await limits.streak('run'), await limits.streak('new')]).toEqual([null, 'b'])
  },
}
