import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { sampleRecord } from '../../../test/fixtures/store-samples.ts'
import { sha256 } from '../../shared/json.ts'
import { MIGRATIONS } from './migrations/list.ts'

let place: StoreFolder
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

/** Changes one byte of the file behind everybody's back: the n-th place at which a text stands. */
function flip(text: string, at: number): void {
  const bytes = readFileSync(place.path)
  let found = -1
  for (let n = 0; n <= at; n++) found = bytes.indexOf(text, found + 1)
  expect(found).toBeGreaterThan(0)
  bytes[found] = (bytes[found] ?? 0) ^ 1
  writeFileSync(place.path, bytes)
}

test.each([
  ['a body', 'canary-of-call-two', 0],
  ['the id of a call, in its table or its index', 'call-number-two', 0],
  ['the id of a call, at the other place', 'call-number-two', 1],
  ['what kind of record it is', 'decisioncall-number-two', 0],
  // A text of 8 characters, then one of 15: of these two records the later lies before the other.
  ['the type of that column', '\u001D+', 0],
])('AUD-01: one byte of %s changed in the file is found and named', async (_, text, at) => {
  const store = await place.open()
  for (const [call, canary] of [
    ['call-number-one', 'x'],
    ['call-number-two', 'canary-of-call-two'],
    ['call-number-three', 'y'],
  ] as const)
    await store.journal.append([sampleRecord(call, { body: { canary } })], 'normal')
  await store.close()
  flip(text, at)
  const { journal } = await place.open()
  expect(await journal.verify()).toMatchObject({ brokenAt: 2, fault: 'changed' })
  // What cannot be read of it does not keep the others from being shown.
  expect(await journal.read({ limit: 10 })).toHaveLength(3)
})

test('AUD-01: a record that the database itself can no longer read is named, whatever byte of its head was changed', async () => {
  const store = await place.open()
  for (const call of ['call-number-one', 'call-number-two', 'call-number-three'])
    await store.journal.append([sampleRecord(call)], 'normal')
  await store.close()
  const bytes = readFileSync(place.path)
  const end = bytes.indexOf('decisioncall-number-two')
  let unreadable = 0
  for (let at = end - HEAD_BYTES; at < end; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(place.path, changed)
    const again = await place.open()
    const { journal } = again
    expect([at, await journal.verify()]).toMatchObject([at, { brokenAt: 2, fault: 'changed' }])
    // Who wants to see it is told why it is not shown.
    await journal.read({ limit: 10 }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('damaged') })
      unreadable++
    })
    await again.close()
  }
  expect(unreadable).toBeGreaterThan(0)
})

/** How long the columns of a record are, before the first of them. */
const HEAD_BYTES = 20

test('H7: a store from before the steady clock keeps its records, and its chain goes on', async () => {
  const raw = await place.raw()
  for (const sql of MIGRATIONS.slice(0, 5)) raw.exec(sql)
  raw.exec('PRAGMA application_id = 0x4b697769; PRAGMA user_version = 5')
  const [salt, body, genesis] = ['salt', '{"old":true}', '0'.repeat(64)]
  const said = ['decision', 'c1', 's1', 'local', 'execute', 'sample', 'allow', 1000] as const
  const body_hash = sha256(salt + body)
  const hash = sha256(JSON.stringify([1, genesis, ...said, body_hash]))
  raw
    .prepare('INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    .run(1, ...said, salt, body, body_hash, genesis, hash)
  raw.close()
  const { journal } = await place.open()
  await journal.append([sampleRecord('c2')], 'normal')
  expect(await journal.verify()).toMatchObject({ records: 2, brokenAt: null })
  expect(await journal.read({ limit: 10, after: 0 })).toMatchObject([
    { mono: null, parent_session: null, body: { old: true } },
    { mono: 1000, prev: hash },
  ])
})

test('AUD-01, AUD-11: a record stands in one place of the file, also when its table has grown', async () => {
  const store = await place.open()
  const canaries = Array.from({ length: 30 }, (_, n) => `canary-number-${n}.`)
  for (const canary of canaries)
    await store.journal.append([sampleRecord(canary, { body: { canary, text: 'x'.repeat(500) } })], 'normal')
  await store.close()
  const bytes = readFileSync(place.path, 'latin1')
  for (const canary of canaries) expect(bytes.split(`"canary":"${canary}"`), canary).toHaveLength(2)
})

test('AUD-11: an erased body is found nowhere in the files of the store', async () => {
  const { journal } = await place.open()
  await journal.append([sampleRecord('c1', { body: { text: 'erase-me-canary' } })], 'normal')
  await journal.append([sampleRecord('c2', { body: { text: 'other-canary' } })], 'normal')
  expect(await journal.erase('c1')).toBe(1)
  const files = [place.path, `${place.path}-wal`].map((path) => readFileSync(path, 'latin1')).join('')
  expect(files).toContain('other-canary')
  expect(files).not.toContain('erase-me-canary')
})
