import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleRecord } from '../../test/fixtures/store-samples.ts'
import { systemClock } from '../shared/clock.ts'
import { createLog } from '../shared/log.ts'
import type { OwnKey } from '../spaces/signing-key.ts'
import { openOwnKey } from '../spaces/signing-key.ts'
import type { Journal } from '../store/journal.ts'
import type { Head } from './heads.ts'
import { openHeads, readHeads } from './heads.ts'
import type { JournalReport } from './verify-journal.ts'
import { verifyWithHeads } from './verify-journal.ts'

let place: StoreFolder
let file: string
let ownKey: OwnKey
let logged: string[]
beforeEach(async () => {
  place = await makeStoreFolder()
  file = join(place.folder, 'kiwi.heads.jsonl')
  ownKey = keyIn('a')
  logged = []
})
afterEach(() => place.dispose())

const keyIn = (name: string): OwnKey =>
  openOwnKey({ key: join(place.folder, name, 'key'), publicKey: join(place.folder, name, 'pub') })
const log = createLog({ level: 'warn', clock: systemClock, write: (line) => void logged.push(line) })

/** What one process would write: these calls, and a head at its end. */
async function work(calls: readonly string[], key = ownKey): Promise<Journal> {
  const { journal } = await place.open()
  const heads = openHeads({ file, ownKey: key, clock: systemClock, log, journal })
  journal.follow((placed) => heads.add(placed))
  await journal.append(
    calls.map((call) => sampleRecord(call)),
    'normal',
  )
  await heads.close()
  return journal
}
const verify = (journal: Journal): Promise<JournalReport> => verifyWithHeads({ journal, file, ownKey })
const heads = async (): Promise<readonly Head[]> => (await readHeads(file)).heads
const tamper = async (sql: string): Promise<void> => {
  const raw = await place.raw()
  for (const name of ['record_not_changed', 'record_times_not_changed', 'record_not_deleted'])
    raw.exec(`DROP TRIGGER IF EXISTS ${name}`)
  raw.exec(sql)
  raw.close()
}

test('AUD-01: each process leaves a signed head outside of the store, and the chain fits them', async () => {
  await work(['a', 'b'])
  const journal = await work(['c'])
  expect((await heads()).map(({ size }) => size)).toEqual([2, 3])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await verify(journal)).toMatchObject({ records: 3, fault: null, heads: 2, notes: [] })
})

test('AUD-01: a tail that was cut off is found, with what is missing', async () => {
  const journal = await work(['a', 'b', 'c'])
  await tamper('DELETE FROM journal WHERE seq > 1')
  expect(await journal.verify()).toMatchObject({ records: 1, brokenAt: null })
  expect(await verify(journal)).toMatchObject({ records: 1, brokenAt: 2, fault: 'cut', head: { size: 3 } })
})

test('AUD-01: a chain that was written anew, sound in itself, is found', async () => {
  await work(['a', 'b', 'c'])
  await tamper('DELETE FROM journal')
  const { journal } = await place.open()
  await journal.append(
    ['x', 'y', 'z', 'w'].map((call) => sampleRecord(call)),
    'normal',
  )
  expect(await journal.verify()).toMatchObject({ records: 4, brokenAt: null })
  expect(await verify(journal)).toMatchObject({ fault: 'rewritten', brokenAt: 3, head: { size: 3 } })
})

test('AUD-01: a head that was changed is found', async () => {
  const journal = await work(['a', 'b', 'c'])
  await tamper('DELETE FROM journal WHERE seq > 2')
  const [last] = await journal.read({ limit: 1 })
  const [head] = await heads()
  writeFileSync(file, `${JSON.stringify({ ...head, size: 2, hash: last?.hash })}\n`)
  expect(await verify(journal)).toMatchObject({ fault: 'forged', head: { size: 2 } })
})

test('AUD-01: heads that were removed are missed, in part too, and with the end they counted', async () => {
  await work(['a', 'b'])
  const first = readFileSync(file, 'utf8').trim()
  const journal = await work(['c', 'd'])
  const whole = readFileSync(file, 'utf8')
  expect(await verify(journal)).toMatchObject({ fault: null, noted: 4 })
  rmSync(file)
  expect(await verify(journal)).toMatchObject({ fault: 'unvouched', records: 4, heads: 0, noted: 4 })
  writeFileSync(file, `${first}\n`)
  expect(await verify(journal)).toMatchObject({ fault: 'unvouched', heads: 1 })
  await tamper('DELETE FROM journal WHERE seq > 2')
  expect(await verify(journal)).toMatchObject({ fault: 'cut', brokenAt: 3, head: null, noted: 4 })
  rmSync(file)
  await tamper('DELETE FROM journal')
  expect(await verify(journal)).toMatchObject({ fault: 'cut', brokenAt: 1, records: 0, noted: 4 })
  writeFileSync(file, whole)
})

test('AUD-01: a store without heads is young, or lacks them', async () => {
  const { journal } = await place.open()
  await journal.append([sampleRecord('a')], 'normal')
  expect(await verify(journal)).toMatchObject({ fault: null, heads: 0, noted: null })
  await journal.append(
    Array.from({ length: 999 }, (_, n) => sampleRecord(`more-${n}`)),
    'normal',
  )
  expect(await verify(journal)).toMatchObject({ fault: 'unvouched', heads: 0, noted: null })
})

test('AUD-01, AUD-11: a body that is gone needs the record of a person who erased it', async () => {
  const journal = await work(['a', 'b', 'c'])
  await journal.erase('b')
  expect(await verify(journal)).toMatchObject({ fault: 'emptied', brokenAt: 2 })
  // A refusal is none, and neither is the erasure of another call.
  for (const [call, tool, status] of [
    ['x', 'b', 'deny'],
    ['y', 'a', 'allow'],
  ] as const)
    await journal.append([sampleRecord(call, { operation: 'audit.erase', tool, status })], 'normal')
  expect(await verify(journal)).toMatchObject({ fault: 'emptied', brokenAt: 2 })
  await journal.append(
    [sampleRecord('z', { operation: 'audit.erase', tool: 'b', status: 'allow' })],
    'normal',
  )
  expect(await verify(journal)).toMatchObject({
    fault: null,
    notes: ['1 records hold nothing any more'],
  })
})

test('AUD-01: what is wrong in the chain itself is told first', async () => {
  const journal = await work(['a', 'b', 'c'])
  await tamper("UPDATE journal SET tool = 'innocent' WHERE seq = 2")
  expect(await verify(journal)).toMatchObject({ records: 1, brokenAt: 2, fault: 'changed' })
})

test('AUD-01: heads of a key that is gone vouch for nothing, are compared all the same, and told of', async () => {
  const journal = await work(['a', 'b'], keyIn('b'))
  const notes = [expect.stringContaining('not here')]
  expect(await verify(journal)).toMatchObject({ fault: 'unvouched', brokenAt: null, notes })
  await work(['c'])
  expect(await verify(journal)).toMatchObject({ fault: null, notes })
  await tamper('DELETE FROM journal WHERE seq > 1')
  expect(await verify(journal)).toMatchObject({ fault: 'cut', head: { size: 3 } })
})

test('AUD-01: half a line, as a killed process leaves it, is told of and spoils nothing', async () => {
  await work(['a'])
  writeFileSync(file, `${readFileSync(file, 'utf8')}{"size":`)
  const journal = await work(['b'])
  expect(await verify(journal)).toMatchObject({ fault: null, notes: [expect.stringContaining('1 lines')] })
})

test('AUD-09: a clock that went back is a note, and no fault', async () => {
  const { journal } = await place.open()
  const walls = [50_000, 20_000]
  await journal.append(
    walls.map((wall) => sampleRecord(`at ${wall}`, { wall })),
    'normal',
  )
  expect(await verify(journal)).toMatchObject({
    fault: null,
    notes: ['the clock went back by 30 s before record 2'],
  })
})

test('AUD-01: a head is written after each thousand records, and old ones make room', async () => {
  const { journal } = await place.open()
  const counting = openHeads({ file, ownKey, clock: systemClock, log, journal })
  journal.follow((placed) => counting.add(placed))
  for (let batch = 0; batch < 3; batch++)
    await journal.append(
      Array.from({ length: 500 }, (_, n) => sampleRecord(`${batch}-${n}`)),
      'normal',
    )
  await counting.close()
  expect((await heads()).map(({ size }) => size)).toEqual([1000, 1500])
  const [line = ''] = readFileSync(file, 'utf8').trim().split('\n')
  writeFileSync(file, `${line}\n`.repeat(1200))
  await work(['last'])
  expect((await heads()).length).toBeLessThanOrEqual(200)
  expect((await heads()).at(-1)?.size).toBe(1501)
  expect(await verify(journal)).toMatchObject({ records: 1501, fault: null })
})

test('AUD-04: heads that cannot be written cost no call, and are told of', async () => {
  writeFileSync(join(place.folder, 'b'), '')
  const journal = await work(['a'], keyIn('b'))
  expect(logged.join('')).toContain('head.unwritten')
  expect(await verify(journal)).toMatchObject({ records: 1, fault: null, heads: 0 })
  rmSync(join(place.folder, 'b'))
})
