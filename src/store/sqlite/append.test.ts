import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { sampleRecord } from '../../../test/fixtures/store-samples.ts'
import { systemClock } from '../../shared/clock.ts'
import { canonicalJson, sha256 } from '../../shared/json.ts'
import { createAppender } from './append.ts'
import type { Connection } from './connection.ts'
import { createConnection } from './connection.ts'
import { openDatabase } from './driver.ts'
import { migrate } from './migrate.ts'

let place: StoreFolder
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

const outcomes = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((result) =>
    result.status === 'fulfilled' ? 'ok' : String(result.reason.code),
  )

test('H7: the records of one call are written whole or not at all, and hold up no other call', async () => {
  const { journal } = await place.open()
  const [a, b, c] = [sampleRecord('a'), sampleRecord('b'), sampleRecord('c')]
  const together = [
    journal.append([a], 'normal'),
    journal.append([c, a], 'full'),
    journal.append([b], 'normal'),
  ]
  expect(await outcomes(together)).toEqual(['ok', 'CONFLICT', 'ok'])
  const records = await journal.read({ limit: 10, after: 0 })
  expect(records.map(({ call_id }) => call_id)).toEqual(['a', 'b'])
})

test('H7: what comes while the store is locked is written together once it is free, in order', async () => {
  const { journal } = await place.open()
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  const waiting: Promise<unknown>[] = []
  for (let n = 0; n < 5; n++) {
    waiting.push(journal.append([sampleRecord(`c${n}`)], 'normal'))
    await new Promise((resolve) => setImmediate(resolve))
  }
  raw.exec('COMMIT')
  expect(await outcomes(waiting)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  const records = await journal.read({ limit: 10, after: 0 })
  expect(records.map(({ call_id }) => call_id)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4'])
  expect(await journal.verify()).toMatchObject({ records: 5, brokenAt: null })
})

test('AUD-08: two that write in turn make one chain, also after a record was refused', async () => {
  const journals = [(await place.open()).journal, (await place.open()).journal]
  for (const round of [1, 2, 3]) {
    for (const [at, journal] of journals.entries()) {
      const [first, second] = [sampleRecord(`${round}${at}a`), sampleRecord(`${round}${at}b`)]
      await journal.append([first, second], 'normal')
      await expect(journal.append([first], 'normal')).rejects.toMatchObject({ code: 'CONFLICT' })
    }
  }
  const [journal] = journals
  expect(await journal?.verify()).toMatchObject({ records: 12, brokenAt: null })
  const records = (await journal?.read({ limit: 20, after: 0 })) ?? []
  expect(records.map(({ call_id }) => call_id).join(' ')).toBe(
    '10a 10b 11a 11b 20a 20b 21a 21b 30a 30b 31a 31b',
  )
})

test('AUD-04: what cannot be written is told to every caller, and later records are written again', async () => {
  const { journal } = await place.open({ busyLimit: 20 })
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  const lost = [journal.append([sampleRecord('a')], 'full'), journal.append([sampleRecord('b')], 'normal')]
  expect(await outcomes(lost)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'])
  raw.exec('COMMIT')
  await journal.append([sampleRecord('c')], 'normal')
  expect(await journal.read({ limit: 10 })).toMatchObject([{ seq: 1, call_id: 'c' }])
})

test('AUD-04: the queue is bounded: what is too much is refused at once, the rest is kept', async () => {
  const { journal } = await place.open({ queueLimit: 3 })
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  const kept = journal.append([sampleRecord('a'), sampleRecord('b')], 'normal')
  await expect(journal.append([sampleRecord('c'), sampleRecord('d')], 'normal')).rejects.toMatchObject({
    code: 'OVERLOADED',
  })
  raw.exec('COMMIT')
  await kept
  await journal.append([sampleRecord('c'), sampleRecord('d'), sampleRecord('e')], 'normal')
  expect(await journal.verify()).toMatchObject({ records: 5, brokenAt: null })
})

test('AUD-01: the journal itself refuses a change and a deletion, and lets a body be erased', async () => {
  const { journal } = await place.open()
  await journal.append([sampleRecord('a')], 'normal')
  const raw = await place.raw()
  for (const column of ['kind', 'call_id', 'session', 'principal', 'operation', 'tool', 'status', 'hash']) {
    expect(() => raw.exec(`UPDATE journal SET ${column} = 'outcome'`), column).toThrow(/cannot change/)
  }
  for (const change of [
    'seq = 2',
    'wall = 1',
    'mono = NULL',
    "parent_session = 's0'",
    "body = '{}'",
    "body = NULL, salt = 'x'",
    "prev_hash = ''",
  ]) {
    expect(() => raw.exec(`UPDATE journal SET ${change}`), change).toThrow(/cannot change/)
  }
  expect(() => raw.exec('DELETE FROM journal')).toThrow(/cannot be deleted/)
  raw.exec('UPDATE journal SET body = NULL, salt = NULL')
  expect(await journal.verify()).toMatchObject({ records: 1, brokenAt: null })
})

test('AUD-01: a record that was rewritten with a fitting hash of its own breaks the chain at the next one', async () => {
  const { journal } = await place.open()
  for (const call of ['a', 'b', 'c', 'd']) await journal.append([sampleRecord(call)], 'normal')
  const raw = await place.raw()
  const row = raw.prepare('SELECT * FROM journal WHERE seq = 2').get()
  const { seq, prev_hash, kind, call_id, session, principal, operation, tool, status, wall, body_hash } = row
  const { mono, parent_session } = row
  const hashWith = (said: string): string =>
    sha256(
      canonicalJson([
        seq,
        prev_hash,
        kind,
        call_id,
        session,
        principal,
        operation,
        tool,
        said,
        wall,
        body_hash,
        mono,
        parent_session,
      ]),
    )
  expect(hashWith(status)).toBe(row.hash)
  raw.exec('DROP TRIGGER record_not_changed')
  raw.prepare("UPDATE journal SET status = 'deny', hash = ? WHERE seq = 2").run(hashWith('deny'))
  expect(await journal.verify()).toMatchObject({ records: 2, brokenAt: 3 })
})

test.each([
  ['normal', ['normal', 'full']],
  ['full', ['full', 'full']],
] as const)('H7: with %s sync for all, records are given at least that', async (least, given) => {
  const { path } = place
  const database = await openDatabase(path, { busyTimeout: 20, file: path })
  const connection = createConnection(database, { file: path, clock: systemClock, busyLimit: 1000 })
  await migrate(connection, path)
  const syncs: unknown[] = []
  const watched: Connection = {
    ...connection,
    writeNow: (work, sync) => {
      syncs.push(sync)
      return connection.writeNow(work, sync)
    },
  }
  const { append } = createAppender(watched, { queueLimit: 10, sync: least })
  await append([sampleRecord('a')], 'normal')
  await append([sampleRecord('b')], 'full')
  await connection.close()
  expect(syncs).toEqual(given)
})

test('H7: what comes alone is written at once; what else comes in the same turn of the loop shares a commit', async () => {
  const { journal } = await place.open()
  const heard: string[][] = []
  journal.follow((placed) => heard.push(placed.map(({ call_id }) => call_id)))
  const later: Promise<unknown>[] = []
  await new Promise<void>((resolve, reject) => {
    const turn = async (): Promise<void> => {
      await journal.append([sampleRecord('first')], 'normal')
      expect(heard).toEqual([['first']])
      for (const name of ['second', 'third']) {
        later.push(journal.append([sampleRecord(name)], 'normal'))
        await Promise.resolve()
      }
    }
    setImmediate(() => {
      turn().then(resolve, reject)
    })
  })
  await Promise.all(later)
  expect(heard).toEqual([['first'], ['second', 'third']])
})
