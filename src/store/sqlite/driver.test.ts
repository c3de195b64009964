import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import type { Database, SqlValue } from './driver.ts'
import { openDatabase } from './driver.ts'

let place: StoreFolder
let database: Database
beforeEach(async () => {
  place = await makeStoreFolder()
  database = await openDatabase(place.path, { busyTimeout: 1, file: place.path })
  database.exec('CREATE TABLE t (a, b)')
})
afterEach(async () => {
  database.close()
  await place.dispose()
})

test('values come back as they went in, booleans as 0 and 1', () => {
  const values: SqlValue[] = ['ü\n', '', 0, -1.5, 2 ** 40, null, new Uint8Array([0, 255]), new Uint8Array(0)]
  for (const value of values) {
    database.exec('DELETE FROM t')
    database.prepare('INSERT INTO t VALUES (?, ?)').run(value, true)
    expect(database.prepare('SELECT a, b FROM t').get()).toEqual({ a: value, b: 1 })
  }
  expect(database.prepare('SELECT a FROM t WHERE b = ?').all(false)).toEqual([])
  expect(database.prepare('SELECT a FROM t WHERE b = ?').get(false)).toBeUndefined()
})

test('a value that SQLite would take for something else is refused and nothing is stored', () => {
  const insert = database.prepare('INSERT INTO t VALUES (?, ?)')
  // What a mistake upstream could bring here in spite of the types.
  const run = (...values: SqlValue[]): number => insert.run(...values)
  for (const wrong of [undefined, {}, { a: 1 }, [], new Date(0), Number.NaN, Infinity, Symbol('x')]) {
    expect(() => Reflect.apply(run, null, [wrong, 'x'])).toThrow(/cannot hold \[object/)
    expect(() => Reflect.apply(run, null, ['x', wrong])).toThrow(/cannot hold \[object/)
  }
  expect(database.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 })
})

test('a transaction is whole or not at all', () => {
  const insert = database.prepare('INSERT INTO t VALUES (?, ?)')
  expect(database.transaction(() => insert.run(1, 1))).toBe(1)
  expect(() =>
    database.transaction(() => {
      insert.run(2, 2)
      throw new Error('stop')
    }),
  ).toThrow('stop')
  expect(database.prepare('SELECT a FROM t').all()).toEqual([{ a: 1 }])
})

test('faults of SQLite become our own errors and name the file', async () => {
  const raw = await place.raw()
  raw.exec('BEGIN IMMEDIATE')
  expect(errorOf(() => database.exec('BEGIN IMMEDIATE'))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    details: { file: place.path, errcode: 5 },
  })
  raw.exec('ROLLBACK')
  expect(errorOf(() => database.exec('SELEKT'))).toMatchObject({ code: 'INTERNAL' })
  database.exec('CREATE UNIQUE INDEX u ON t (a); INSERT INTO t VALUES (1, 1)')
  expect(errorOf(() => database.exec('INSERT INTO t VALUES (1, 1)'))).toMatchObject({
    code: 'CONFLICT',
    details: { errcode: 2067 },
  })
  const pages = Object.values(Object(database.prepare('PRAGMA page_count').get()))[0]
  database.exec(`PRAGMA max_page_count = ${Number(pages)}`)
  const full = errorOf(() => database.prepare('INSERT INTO t VALUES (2, ?)').run(new Uint8Array(1e6)))
  expect(full).toMatchObject({ code: 'STORE_FULL', hint: expect.stringContaining(place.path) })
  database.exec('PRAGMA query_only = ON')
  expect(errorOf(() => database.exec('DELETE FROM t'))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    hint: expect.stringContaining(place.path),
  })
})

test('a file that cannot be opened, or is none, is named', async () => {
  const absent = join(place.folder, 'absent', 'x.db')
  await expect(openDatabase(absent, { busyTimeout: 1, file: absent })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    details: { errcode: 14 },
    hint: expect.stringContaining(absent),
  })
  const text = join(place.folder, 'text.db')
  await writeFile(text, 'x'.repeat(5000))
  const opened = await openDatabase(text, { busyTimeout: 1, file: text })
  expect(() => opened.exec('SELECT * FROM sqlite_master')).toThrow(/damaged or no database/)
  opened.close()
  opened.close()
  expect(() => opened.prepare('SELECT 1')).toThrow(/it is closed/)
})

function errorOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
