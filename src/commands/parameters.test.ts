import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { needsSchema, readParameters } from './parameters.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-parameters-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a text becomes what the schema says, beside properties that say nothing', () => {
  const schema = {
    properties: { any: true, none: false, count: { type: 'integer' }, on: { type: 'boolean' } },
  }
  expect(readParameters(['any=1', 'none=2', 'count=3', 'on=true'], undefined, schema)).toEqual({
    any: '1',
    none: '2',
    count: 3,
    on: true,
  })
})

test('M4: one property that says nothing readable takes nothing from the others', () => {
  const schema = { properties: { odd: 5, count: { type: 'integer' } } }
  expect(readParameters(['odd=1', 'count=3'], undefined, schema)).toEqual({ odd: '1', count: 3 })
  expect(readParameters(['a=1'], undefined, { properties: [] })).toEqual({ a: '1' })
})

test('only name=text needs the schema', () => {
  expect(needsSchema([])).toBe(false)
  expect(needsSchema(['a:=1', 'b:="c=d"'])).toBe(false)
  expect(needsSchema(['a:=1', 'b=c'])).toBe(true)
})

test.each(['@no-such-file', '@.', '{bad', '[1]', ''])('--params %j is INVALID_PARAMETERS', (given) => {
  expect(() => readParameters([], given, null)).toThrow(
    expect.objectContaining({ code: 'INVALID_PARAMETERS', message: expect.stringContaining('--params') }),
  )
})

test('--params reads a file', () => {
  const file = join(folder, 'p.json')
  writeFileSync(file, '{"a": [1]}')
  expect(readParameters(['b:=2'], `@${file}`, null)).toEqual({ a: [1], b: 2 })
})

test.each(['array', 'object'])('a parameter that is no %s is named, with how one is written', (type) => {
  const schema = { properties: { tags: { type } } }
  expect(() => readParameters(['tags=a,b'], undefined, schema)).toThrow(
    expect.objectContaining({
      code: 'INVALID_PARAMETERS',
      message: expect.stringContaining('Cannot read "tags" as JSON'),
      hint: expect.stringContaining(`tags='["a", "b"]'`),
    }),
  )
})
