import { expect } from 'vitest'
import type { Approval, Claim } from '../../src/store/approvals.ts'
import type { NewRecord } from '../../src/store/journal.ts'
import { sampleApproval, sampleRecord } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const ASKED = sampleApproval()
const APPROVED: Approval = {
  ...ASKED,
  state: 'approved',
  decided_by: 'user:me',
  channel: 'terminal',
  decided_at: 1500,
  mac: 'm2',
}
const CLAIM: Claim = { approval: ASKED.id, call_hash: ASKED.call_hash, mac: 'm2', used_at: 1700 }
const record = (call_id: string): NewRecord => sampleRecord(call_id, { body: {} })

export const approvalCases: Cases = {
  async 'H9: a question comes back as it was put, in every process, and the same call asks once'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    expect(await store.approvals.ask(ASKED)).toEqual(ASKED)
    expect(await other.approvals.ask({ ...ASKED, id: 'zzzzzzzz9999' })).toEqual(ASKED)
    expect(await other.approvals.list({ limit: 9 })).toEqual([ASKED])
    expect(
      await other.approvals.list({ limit: 9, prefix: 'abcdef', session: 's1', states: ['pending'] }),
    ).toEqual([ASKED])
    expect(await other.approvals.list({ limit: 9, prefix: 'a%' })).toEqual([])
    expect(await other.approvals.list({ limit: 9, call_hash: 'b'.repeat(64) })).toEqual([])
  },

  async 'H9: of two answers to what both have seen the first stands'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    await store.approvals.ask(ASKED)
    await other.approvals.decide(APPROVED, ASKED)
    await expect(store.approvals.decide({ ...APPROVED, state: 'rejected' }, ASKED)).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    expect(await store.approvals.list({ limit: 9 })).toEqual([APPROVED])
  },

  async 'APR-02: an approval is used up with the record of the decision, once over all processes'(bed) {
    const stores = [await bed.open(), await bed.open(), await bed.open()]
    const [store] = stores
    if (store === undefined) throw new Error('no store')
    await store.approvals.ask(ASKED)
    await store.approvals.decide(APPROVED, ASKED)
    const ends = await Promise.allSettled(
      stores.flatMap((each, at) => [
        each.journal.append([record(`claims ${at}`)], 'full', CLAIM),
        each.journal.append([record(`claims too ${at}`)], 'full', CLAIM),
        each.journal.append([record(`plain ${at}`)], 'normal'),
      ]),
    )
    const refused = ends.filter((end) => end.status === 'rejected')
    expect(refused).toHaveLength(5)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'APPROVAL_USED' })
    const records = await store.journal.read({ limit: 99 })
    expect(records.filter(({ call_id }) => call_id.startsWith('claims'))).toHaveLength(1)
    expect(records.filter(({ call_id }) => call_id.startsWith('plain'))).toHaveLength(3)
    expect(await store.journal.verify()).toMatchObject({ records: 4, brokenAt: null })
    expect(await store.approvals.list({ limit: 9 })).toEqual([{ ...APPROVED, state: 'used', used_at: 1700 }])
  },

  async 'APR-01: a claim for another call, or of what is not approved as it was sealed, uses nothing up'(
    bed,
  ) {
    const store = await bed.open()
    await store.approvals.ask(ASKED)
    const claim = (more: Partial<Claim>): Promise<unknown> =>
      store.journal.append([record('c')], 'full', { ...CLAIM, ...more })
    await expect(claim({})).rejects.toMatchObject({ code: 'APPROVAL_USED' })
    await store.approvals.decide(APPROVED, ASKED)
    for (const more of [{ call_hash: 'b'.repeat(64) }, { mac: 'forged' }, { approval: 'other' }])
      await expect(claim(more)).rejects.toMatchObject({ code: 'APPROVAL_USED' })
    expect(await store.journal.read({ limit: 9 })).toEqual([])
    await claim({})
  },

  async 'H9: what ended stays as it is, and nobody hears twice that it expired'(bed) {
    const store = await bed.open()
    await store.approvals.ask(ASKED)
    expect(await store.approvals.expire(ASKED.id)).toBe(true)
    expect(await store.approvals.expire(ASKED.id)).toBe(false)
    await expect(store.approvals.decide(APPROVED, ASKED)).rejects.toMatchObject({ code: 'CONFLICT' })
    const again = { ...ASKED, id: 'again2345678' }
    expect(await store.approvals.ask(again)).toEqual(again)
  },

  async 'H9: a session has a bounded number of open questions, those that expired not counted'(bed) {
    const store = await bed.open()
    const question = (at: number): Approval => ({
      ...ASKED,
      id: `question${at}`,
      call_hash: String(at).padStart(64, '0'),
    })
    for (let at = 0; at < 20; at++) await store.approvals.ask(question(at))
    await expect(store.approvals.ask(question(20))).rejects.toMatchObject({ code: 'OVERLOADED' })
    expect((await store.approvals.ask({ ...question(20), session: 's2' })).id).toBe('question20')
    const later = { ...question(21), created_at: 3000, expires_at: 4000 }
    expect(await store.approvals.ask(later)).toEqual(later)
  },

  async 'H9: what a person approved instead is put together with their answer, or not at all'(bed) {
    const store = await bed.open()
    await store.approvals.ask(ASKED)
    const instead = { ...APPROVED, id: 'instead23456', call_hash: 'b'.repeat(64) }
    const rejected = { ...APPROVED, state: 'rejected', replaced_by: instead.id } as const
    await store.approvals.decide(rejected, ASKED, instead)
    await expect(store.approvals.decide(rejected, ASKED, { ...instead, id: 'more' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    expect((await store.approvals.list({ limit: 9 })).map(({ id }) => id).toSorted()).toEqual([
      ASKED.id,
      instead.id,
    ])
  },
}
