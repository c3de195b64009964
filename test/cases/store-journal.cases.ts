import { expect } from 'vitest'
import type { JournalFault } from '../../src/store/journal.ts'
import type { Store } from '../../src/store/store.ts'
import { sampleRecord } from '../fixtures/store-samples.ts'
import type { Cases, StoreBed } from './store-bed.ts'

async function fill(store: Store, count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await store.journal.append([sampleRecord(`c${n}`, { body: { n } })], n % 2 === 0 ? 'full' : 'normal')
  }
}

export const journalCases: Cases = {
  async 'H7: records are read as they were written, newest first or onwards from one, and filtered'(bed) {
    const { journal } = await bed.open()
    expect(await journal.read({ limit: 10 })).toEqual([])
    const body = { parameters: { text: 'ü\n\u2028"', list: [1, null] } }
    await journal.append([sampleRecord('c1', { body }), sampleRecord('c1', { kind: 'outcome' })], 'full')
    await journal.append([sampleRecord('c2', { session: 's2', tool: 'other', status: 'deny' })], 'normal')
    await journal.append([], 'normal')
    const all = await (await bed.open()).journal.read({ limit: 10, after: 0 })
    expect(all).toMatchObject([
      { seq: 1, ...sampleRecord('c1', { body }) },
      { seq: 2, kind: 'outcome', call_id: 'c1', prev: all[0]?.hash },
      { seq: 3, call_id: 'c2', prev: all[1]?.hash },
    ])
    const seqs = async (filter: object): Promise<number[]> =>
      (await journal.read({ limit: 10, ...filter })).map(({ seq }) => seq)
    expect(await seqs({})).toEqual([3, 2, 1])
    expect(await seqs({ limit: 2 })).toEqual([3, 2])
    expect(await seqs({ after: 1 })).toEqual([2, 3])
    expect(await seqs({ call_id: 'c1' })).toEqual([2, 1])
    expect(await seqs({ session: 's2' })).toEqual([3])
    expect(await seqs({ tool: 'sample', after: 1 })).toEqual([2])
    expect(await seqs({ status: 'deny', tool: 'sample' })).toEqual([])
    expect(await seqs({ limit: -1 })).toEqual([])
  },

  async 'H7: records are found by who, what and when, and by that they were refused'(bed) {
    const { journal } = await bed.open()
    await journal.append(
      [
        sampleRecord('c1', { principal: 'ada', wall: 1000 }),
        sampleRecord('c1', { kind: 'outcome', status: 'rejected', wall: 2000 }),
        sampleRecord('c2', { operation: 'search', status: 'deny', wall: 3000 }),
      ],
      'normal',
    )
    const seqs = async (filter: object): Promise<number[]> =>
      (await journal.read({ limit: 10, after: 0, ...filter })).map(({ seq }) => seq)
    expect(await seqs({ principal: 'ada' })).toEqual([1])
    expect(await seqs({ operation: 'search' })).toEqual([3])
    expect(await seqs({ since: 2000 })).toEqual([2, 3])
    expect(await seqs({ since: 1000, until: 2000 })).toEqual([1])
    expect(await seqs({ isDenied: true })).toEqual([2])
  },

  async 'H11: a session is read with all that came from it, and with nothing else'(bed) {
    const { journal } = await bed.open()
    const calls: readonly (readonly [string, string | null])[] = [
      ['root', null],
      ['child', 'root'],
      ['other', null],
      ['grandchild', 'child'],
      ['turns', 'turns'],
    ]
    for (const [session, parent_session] of calls)
      await journal.append([sampleRecord(`of ${session}`, { session, parent_session })], 'normal')
    const sessions = async (session: string): Promise<string[]> =>
      (await journal.read({ limit: 10, after: 0, session })).map((record) => record.session)
    expect(await sessions('root')).toEqual(['root', 'child', 'grandchild'])
    expect(await sessions('child')).toEqual(['child', 'grandchild'])
    expect(await sessions('other')).toEqual(['other'])
    expect(await sessions('turns')).toEqual(['turns'])
    expect(await sessions('nobody')).toEqual([])
  },

  async 'H7: appended records come back with their place, each to whoever gave it'(bed) {
    const { journal } = await bed.open()
    const given = ['c1', 'c2'].map((call) =>
      journal.append([sampleRecord(call), sampleRecord(call, { kind: 'outcome' })], 'normal'),
    )
    const placed = await Promise.all(given)
    expect(placed.flat()).toEqual(await journal.read({ limit: 10, after: 0 }))
    expect(placed[1]).toMatchObject([{ call_id: 'c2', seq: 3 }, { seq: 4 }])
  },

  async 'AUD-11: the body of a call is erased for good; its hash stays, and the chain is whole'(bed) {
    const store = await bed.open()
    const { journal } = store
    await journal.append([sampleRecord('c1'), sampleRecord('c1', { kind: 'outcome' })], 'normal')
    await journal.append([sampleRecord('c2')], 'normal')
    const before = await journal.read({ limit: 10, after: 0 })
    expect(await journal.erase('c1')).toBe(2)
    expect(await journal.erase('c1')).toBe(0)
    expect(await journal.erase('nobody')).toBe(0)
    const after = await journal.read({ limit: 10, after: 0 })
    expect(after.map(({ hash }) => hash)).toEqual(before.map(({ hash }) => hash))
    expect(after.map(({ body }) => body)).toEqual([{}, {}, { call: 'c2' }])
    expect(await journal.verify()).toMatchObject({ records: 3, brokenAt: null })
  },

  async 'AUD-08: two handles that append at once make one unbroken chain and lose nothing'(bed) {
    const [a, b] = [await bed.open(), await bed.open()]
    const calls = Array.from({ length: 200 }, (_, n) => `c${n}`)
    await Promise.all(
      calls.map((call, n) => (n % 2 === 0 ? a : b).journal.append([sampleRecord(call)], 'normal')),
    )
    const records = await a.journal.read({ limit: 500 })
    expect(new Set(records.map(({ call_id }) => call_id))).toEqual(new Set(calls))
    expect(await b.journal.verify()).toMatchObject({ records: 200, brokenAt: null })
  },

  async 'AUD-09: where the wall clock went back is told; waiting for the store is no such place'(bed) {
    const { journal } = await bed.open()
    const walls = [10_000, 20_000, 19_500, 5000, 6000]
    for (const [n, wall] of walls.entries())
      await journal.append([sampleRecord(`c${n}`, { wall, mono: n * 100 })], 'normal')
    expect(await journal.verify()).toEqual({
      records: 5,
      brokenAt: null,
      fault: null,
      clockBack: [{ seq: 4, ms: 14_500 }],
      erased: [],
    })
    expect((await journal.read({ limit: 10, after: 0 })).map(({ mono }) => mono)).toEqual([
      0, 100, 200, 300, 400,
    ])
  },

  async 'AUD-05 AUD-09: odd text and a clock that goes back leave the chain whole and in order'(bed) {
    const { journal } = await bed.open()
    const odd = ['\n{"seq":9}', '\u001B[31m', 'a\0b', '\uD800', '😀', "'; DROP TABLE journal"]
    for (const [n, tool] of odd.entries()) {
      await journal.append([sampleRecord(`c${n}`, { tool, wall: 1000 - n, body: { tool } })], 'normal')
    }
    expect(await journal.verify()).toMatchObject({ records: odd.length, brokenAt: null })
    const records = await journal.read({ limit: 10, after: 0 })
    expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(records.map(({ body }) => body['tool'])).toEqual(odd)
  },

  async 'H7: a call has at most one decision and one outcome'(bed) {
    const { journal } = await bed.open()
    await journal.append([sampleRecord('c1')], 'normal')
    await expect(journal.append([sampleRecord('c1')], 'normal')).rejects.toMatchObject({ code: 'CONFLICT' })
    await journal.append([sampleRecord('c1', { kind: 'outcome' })], 'normal')
    expect(await journal.verify()).toMatchObject({ records: 2, brokenAt: null })
  },

  async 'H7: a record that stands already is refused by itself; what shares its commit is written'(bed) {
    const { journal } = await bed.open()
    await journal.append([sampleRecord('c1')], 'normal')
    const given = ['c0', 'c1', 'c2'].map((call) => journal.append([sampleRecord(call)], 'normal'))
    expect((await Promise.allSettled(given)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(await journal.verify()).toMatchObject({ records: 3, brokenAt: null })
  },

  async 'N16: calls that were let through and have no outcome are found, the others are not'(bed) {
    const { journal } = await bed.open()
    const ended = [sampleRecord('ended'), sampleRecord('ended', { kind: 'outcome', status: 'success' })]
    await journal.append([...ended, sampleRecord('refused', { status: 'deny' })], 'normal')
    expect(await journal.unfinished()).toEqual([])
    await journal.append([sampleRecord('open', { body: { process: 'here:1' } })], 'normal')
    expect(await (await bed.open()).journal.unfinished()).toMatchObject([
      { call_id: 'open', body: { process: 'here:1' } },
    ])
  },

  async 'H7: closing waits for what was given; afterwards nothing is taken'(bed) {
    const store = await bed.open()
    const given = store.journal.append([sampleRecord('c1')], 'normal')
    await store.close()
    await given
    await expect(store.journal.append([sampleRecord('c2')], 'normal')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    await expect(store.journal.read({ limit: 1 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await (await bed.open()).journal.verify()).toMatchObject({ records: 1, brokenAt: null })
  },
}

/** What is done to a journal of six records, the first record that is then bad, and what is wrong with it. */
const TAMPERING: readonly (readonly [string, string, number, JournalFault])[] = [
  ['a changed status', "UPDATE journal SET status = 'deny' WHERE seq = 3", 3, 'changed'],
  ['a changed body', `UPDATE journal SET body = '{"n":99}' WHERE seq = 4`, 4, 'changed'],
  ['a changed time', 'UPDATE journal SET wall = wall + 1 WHERE seq = 1', 1, 'changed'],
  ['another count of the steady clock', 'UPDATE journal SET mono = mono + 1 WHERE seq = 5', 5, 'changed'],
  ['a steady clock taken away', 'UPDATE journal SET mono = NULL WHERE seq = 5', 5, 'changed'],
  ['a session put below another', "UPDATE journal SET parent_session = 's0' WHERE seq = 2", 2, 'changed'],
  ['a changed hash', "UPDATE journal SET hash = 'f' || substr(hash, 2) || 'f' WHERE seq = 2", 2, 'changed'],
  ['a changed tie', "UPDATE journal SET prev_hash = 'f' || prev_hash WHERE seq = 4", 4, 'changed'],
  ['a record taken from the middle', 'DELETE FROM journal WHERE seq = 3', 3, 'missing'],
  ['the first record taken', 'DELETE FROM journal WHERE seq = 1', 1, 'missing'],
  [
    'a record taken and the rest moved up',
    'DELETE FROM journal WHERE seq = 2; UPDATE journal SET seq = seq - 1 WHERE seq > 2',
    2,
    'moved',
  ],
  [
    'two records that changed places',
    `UPDATE journal SET seq = 100 WHERE seq = 4; UPDATE journal SET seq = 4 WHERE seq = 5;
     UPDATE journal SET seq = 5 WHERE seq = 100`,
    4,
    'moved',
  ],
  [
    'a record put in at the end',
    `INSERT INTO journal SELECT 7, kind, 'forged', session, principal, operation, tool, status, wall, salt, body,
       body_hash, (SELECT hash FROM journal WHERE seq = 6), hash, mono, parent_session FROM journal WHERE seq = 6`,
    7,
    'changed',
  ],
  [
    'a record put in between',
    `UPDATE journal SET seq = seq + 100 WHERE seq > 3;
     INSERT INTO journal SELECT 4, kind, 'forged', session, principal, operation, tool, status, wall, salt, body,
       body_hash, (SELECT hash FROM journal WHERE seq = 3), hash, mono, parent_session FROM journal WHERE seq = 3;
     UPDATE journal SET seq = seq - 99 WHERE seq > 100`,
    4,
    'changed',
  ],
]

export const tamperCases: Cases = {
  ...Object.fromEntries(
    TAMPERING.map(([what, sql, brokenAt, fault]) => [
      `AUD-01: ${what} is found and named`,
      async (bed: StoreBed): Promise<void> => {
        const store = await bed.open()
        await fill(store, 6)
        expect(await store.journal.verify()).toMatchObject({ records: 6, brokenAt: null })
        await bed.tamper(sql)
        expect(await store.journal.verify()).toMatchObject({ records: brokenAt - 1, brokenAt, fault })
      },
    ]),
  ),

  async 'AUD-01: a record that was put in before the first is found and named'(bed) {
    const store = await bed.open()
    await fill(store, 3)
    for (const seq of [0, -5]) {
      await bed.tamper(
        `INSERT INTO journal SELECT ${seq}, kind, 'forged${seq}', session, principal, operation, tool, status,
           wall, salt, body, body_hash, prev_hash, hash, mono, parent_session FROM journal WHERE seq = 1`,
      )
      expect(await store.journal.verify()).toMatchObject({ records: 0, brokenAt: seq, fault: 'moved' })
    }
  },

  async 'AUD-01: a body that was erased leaves the chain whole'(bed) {
    const store = await bed.open()
    await fill(store, 3)
    await bed.tamper('UPDATE journal SET body = NULL, salt = NULL WHERE seq = 2')
    expect(await store.journal.verify()).toMatchObject({ records: 3, brokenAt: null })
    expect(await store.journal.read({ limit: 1, after: 1 })).toMatchObject([{ seq: 2, body: {} }])
  },

  async 'AUD-01: a chain of several pages is walked to its end'(bed) {
    const store = await bed.open()
    const records = Array.from({ length: 2500 }, (_, n) => sampleRecord(`c${n}`))
    await store.journal.append(records, 'normal')
    expect(await store.journal.verify()).toMatchObject({ records: 2500, brokenAt: null })
    await bed.tamper("UPDATE journal SET tool = 'x' WHERE seq = 2100")
    expect(await store.journal.verify()).toMatchObject({ records: 2099, brokenAt: 2100 })
  },
}
