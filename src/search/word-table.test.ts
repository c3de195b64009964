import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WordTable } from './word-table.ts'
import { openWordTable } from './word-table.ts'

const shipped = openWordTable(join(import.meta.dirname, '../../builtin/search/words.bin'))

test('S3: a name that is written as one word means what its words mean', async () => {
  const table = await shipped()
  expect(table.spelt(['weatherforecast']).size).toBe(0)
  expect(table.vectorOf('weatherforecast')).toEqual(table.vectorOf('weather forecast'))
  expect(table.vectorOf('weatherForecast')).toEqual(table.vectorOf('weather forecast'))
  expect(table.vectorOf('xqzzkvvw')).toBeNull()
})

test('S3: a word is known as it is spelt, and a table that is not there knows none', async () => {
  const table = await shipped()
  expect([...table.spelt(['calendar', 'calender', 'toString'])]).toEqual(['calendar'])
  expect((await openWordTable('/nowhere/words.bin')()).spelt(['calendar']).size).toBe(0)
})

test('S3: numbers are read two from a byte, the lower four bits first, both signed, times the scale of their word', async () => {
  const table = await tableOf(PLAIN)
  expect(table.size).toBe(4)
  // 7 and -7 alike, whatever the scale; 2 * (1, 0, 0, -1) beside 0.5 * (7, -7, 0, 0).
  expect([...(table.vectorOf('qx') ?? [])]).toEqual([90, -90, 0, 0])
  expect([...(table.vectorOf('qy') ?? [])]).toEqual([90, 0, 0, -90])
  expect([...(table.vectorOf('qx qy') ?? [])]).toEqual([102, -65, 0, -37])
})

test('S3: a request has scales of its own, and its sum is turned by the map', async () => {
  const plain = await tableOf(PLAIN)
  // 7 * (1, -1, 0, 0) beside 7 * (1, 0, 0, -1).
  expect([...(plain.queryOf('qx qy') ?? [])]).toEqual([104, -52, 0, -52])
  const swapped = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const turned = await tableOf({ ...PLAIN, map: swapped })
  expect([...(turned.queryOf('qx qy') ?? [])]).toEqual([-52, 104, 0, -52])
  expect(turned.vectorOf('qx qy')).toEqual(plain.vectorOf('qx qy'))
  expect(plain.queryOf('xqzzkvvw')).toBeNull()
})

interface Numbers {
  readonly items: readonly number[]
  readonly requests: readonly number[]
  readonly map: readonly number[]
}

const PLAIN: Numbers = {
  items: [0.5, 2],
  requests: [1, 7],
  map: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
}

/** Two words with four numbers each. */
async function tableOf({ items, requests, map }: Numbers): Promise<WordTable> {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-words-'))
  const file = join(folder, 'words.bin')
  const names = Buffer.from('qx\nqy', 'latin1')
  const counts = Buffer.from(Uint32Array.of(2, 4, names.length).buffer)
  const floats = Buffer.from(Float32Array.of(...items, ...requests, ...map).buffer)
  writeFileSync(file, Buffer.concat([counts, names, floats, Buffer.from([0x97, 0x00, 0x01, 0xf0])]))
  const table = await openWordTable(file)()
  rmSync(folder, { recursive: true })
  return table
}
