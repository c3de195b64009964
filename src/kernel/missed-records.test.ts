import { expect, test } from 'vitest'
import { sampleRecord } from '../../test/fixtures/store-samples.ts'
import type { NewRecord } from '../store/journal.ts'
import { openMissedRecords } from './missed-records.ts'

const NOW = Date.UTC(2026, 10, 16)

/** A journal on a disk that is full until room is made. */
function bed(refuses: (record: NewRecord) => boolean = () => false) {
  const written: NewRecord[] = []
  const told: string[] = []
  const hear: (() => void)[] = []
  let isFull = true
  const log = { error: (event: string) => told.push(event) }
  const journal = {
    append: async (records: readonly NewRecord[]): Promise<void> => {
      if (isFull || records.some(refuses)) return Promise.reject(new Error('full'))
      written.push(...records)
      for (const one of hear) one()
      return Promise.resolve()
    },
    follow: (one: () => void) => {
      hear.push(one)
    },
  }
  const clock = { now: () => NOW, monotonic: () => 7 }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is used of them, and no more
  const missed = openMissedRecords({ journal, clock, log } as unknown as Parameters<
    typeof openMissedRecords
  >[0])
  const makeRoom = (): void => {
    isFull = false
  }
  return { missed, journal, written, told, makeRoom }
}

test('H7, AUD-04: what could not be written is written behind the next record, with the time it happened', async () => {
  const { missed, journal, written, makeRoom } = bed()
  missed.keep([sampleRecord('one', { wall: NOW - 60_000 }), sampleRecord('one', { kind: 'outcome' })])
  missed.keep([sampleRecord('two')])
  missed.keep([])
  makeRoom()
  await journal.append([sampleRecord('next')])
  await missed.close()
  expect(written.map(({ call_id }) => call_id)).toEqual(['next', 'one', 'one', 'two'])
  expect(written[1]).toMatchObject({ wall: NOW, mono: 7, body: { happened_at: '2026-11-15T23:59:00.000Z' } })
})

test('H7, AUD-04: while there is no room, all of it stays; of too many the latest do', async () => {
  const { missed, written, makeRoom } = bed()
  for (let n = 0; n < 1005; n++) missed.keep([sampleRecord(`c${n}`)])
  await missed.close()
  makeRoom()
  await missed.close()
  expect(written).toHaveLength(1000)
  expect(written[0]?.call_id).toBe('c5')
})

test('H7: what the journal will not take is given up, and does not stand in the way of others', async () => {
  const { missed, journal, written, told, makeRoom } = bed(({ call_id }) => call_id === 'bad')
  missed.keep([sampleRecord('bad')])
  missed.keep([sampleRecord('good')])
  makeRoom()
  for (const id of ['a', 'b', 'c', 'd']) {
    await journal.append([sampleRecord(id)])
    await missed.close()
  }
  expect(written.map(({ call_id }) => call_id)).toEqual(['a', 'good', 'b', 'c', 'd'])
  expect(told).toEqual(['journal.lost'])
})
