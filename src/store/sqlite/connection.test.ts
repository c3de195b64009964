import { copyFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { systemClock } from '../../shared/clock.ts'
import { createConnection } from './connection.ts'
import type { Database } from './driver.ts'
import { openDatabase } from './driver.ts'

let place: StoreFolder
let database: Database
beforeEach(async () => {
  place = await makeStoreFolder()
  database = await openDatabase(place.path, { busyTimeout: 1, file: place.path })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE t (a UNIQUE)')
})
afterEach(async () => {
  database.close()
  await place.dispose()
})

const connect = (busyLimit: number, clock = systemClock) =>
  createConnection(database, { file: place.path, clock, busyLimit })

test('a full write is flushed to disk, the writes after it are not', async () => {
  const seen: unknown[] = []
  const connection = connect(1000)
  const look = () => seen.push(connection.prepare('PRAGMA synchronous').get())
  await connection.write(look, 'full')
  await connection.write(look, 'normal')
  const fail = (): never => {
    look()
    throw new Error('stop')
  }
  await expect(connection.write(fail, 'full')).rejects.toThrow('stop')
  await connection.write(look)
  expect(seen).toEqual([2, 1, 2, 1].map((synchronous) => ({ synchronous })))
})

test('a write that fails leaves nothing behind, and the next one works', async () => {
  const connection = connect(1000)
  const insert = connection.prepare('INSERT INTO t VALUES (?)')
  await connection.write(() => insert.run('kept'))
  const twice = connection.write(() => insert.run('gone') + insert.run('kept'))
  await expect(twice).rejects.toMatchObject({ code: 'CONFLICT', details: { errcode: 2067 } })
  await connection.write(() => insert.run('next'))
  expect(await connection.read(() => connection.prepare('SELECT a FROM t ORDER BY a').all())).toEqual([
    { a: 'kept' },
    { a: 'next' },
  ])
})

test('a lock is waited for while everything else goes on, and given up after the limit by the clock', async () => {
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  let time = 0
  const clock = { now: () => 0, monotonic: () => time }
  const connection = connect(5000, clock)
  const insert = connection.prepare('INSERT INTO t VALUES (?)')
  const waiting = connection.write(() => insert.run('late'))
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await expect.poll(() => turns).toBeGreaterThan(5)
  raw.exec('COMMIT')
  expect(await waiting).toBe(1)
  clearInterval(timer)

  raw.exec('BEGIN IMMEDIATE')
  const hopeless = connection.write(() => insert.run('never'))
  time = 5001
  await expect(hopeless).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { file: place.path } })
  raw.exec('COMMIT')
  expect(raw.prepare('SELECT a FROM t').all()).toEqual([{ a: 'late' }])
})

test('closing lets a waiting write finish', async () => {
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  const connection = connect(5000)
  const waiting = connection.write(() => connection.prepare('INSERT INTO t VALUES (1)').run())
  const closed = connection.close()
  raw.exec('COMMIT')
  await closed
  expect(await waiting).toBe(1)
  expect(database.isOpen).toBe(false)
  await expect(connection.read(() => 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('after many writes the log is moved into the file as soon as nobody writes', async () => {
  const connection = connect(1000)
  const insert = connection.prepare('INSERT INTO t VALUES (?)')
  for (let n = 0; n < 300; n++) await connection.write(() => insert.run(`row ${n}`))
  // Read without its log, the file shows what was moved.
  const rows = async (): Promise<number> => {
    const copy = `${place.path}.copy`
    await copyFile(place.path, copy)
    const other = await openDatabase(copy, { busyTimeout: 1, file: copy })
    const found = other.prepare("SELECT name FROM sqlite_schema WHERE name = 't'").all()
    const count = found.length === 0 ? 0 : other.prepare('SELECT a FROM t').all().length
    other.close()
    return count
  }
  expect(await rows()).toBe(0)
  await vi.waitFor(async () => expect(await rows()).toBe(300), { timeout: 10_000, interval: 100 })
})
