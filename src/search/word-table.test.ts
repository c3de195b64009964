import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-words-'))
  const file = join(folder, 'words.bin')
  writeFileSync(
    file,
    Buffer.concat([tableHead(['qx', 'qy'], 4, [0.5, 2]), Buffer.from([0x97, 0x00, 0x01, 0xf0])]),
  )
  const table = await openWordTable(file)()
  rmSync(folder, { recursive: true })
  expect(table.size).toBe(4)
  // 7 and -7 alike, whatever the scale; 2 * (1, 0, 0, -1) beside 0.5 * (7, -7, 0, 0).
  expect([...(table.vectorOf('qx') ?? [])]).toEqual([90, -90, 0, 0])
  expect([...(table.vectorOf('qy') ?? [])]).toEqual([90, 0, 0, -90])
  expect([...(table.vectorOf('qx qy') ?? [])]).toEqual([102, -65, 0, -37])
})

function tableHead(words: readonly string[], size: number, scales: readonly number[]): Buffer {
  const names = Buffer.from(words.join('\n'), 'latin1')
  const counts = Buffer.from(Uint32Array.of(words.length, size, names.length).buffer)
  return Buffer.concat([counts, names, Buffer.from(Float32Array.from(scales).buffer)])
}
