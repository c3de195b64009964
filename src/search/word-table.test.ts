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
