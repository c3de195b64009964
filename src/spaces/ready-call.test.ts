import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { readManifest } from './manifest.ts'
import { readyCall } from './ready-call.ts'

const callOf = (given: JsonObject): JsonObject | null =>
  readyCall(
    readManifest({ tool_id: 'a', tool_type: 'api', ...given }, { stem: null, category: null }).manifest,
  )

test('S3, S6: the call names the item and each parameter, with its default or what to fill in', () => {
  const parameters = [
    { name: 'city', type: 'string', required: true },
    { name: 'days', type: 'integer', default: 0 },
    { name: 'unit', enum: ['metric', 'imperial'] },
    { name: 'flag', type: 'boolean', default: false },
    { name: 'extra', type: 'any' },
  ]
  expect(callOf({ parameters })).toEqual({
    item_type: 'tool',
    action: 'run',
    item_id: 'a',
    parameters: { city: '<string>', days: 0, unit: '<metric|imperial>', flag: false, extra: '<any>' },
  })
})

test.each([
  ['knowledge', 'knowledge'],
  ['script', 'tool'],
])('S2: a %s is called as a %s', (tool_type, item_type) => {
  expect(callOf({ tool_type })).toMatchObject({ item_type, parameters: {} })
})

test.each(['primitive', 'runtime', 'mcp_server', 'composite'])(
  'S3: a %s offers no call: it is not run',
  (tool_type) => {
    expect(callOf({ tool_type })).toBeNull()
  },
)

test('S3: a value longer than a line is left to fill in', () => {
  const long = 'x'.repeat(201)
  const parameters = [
    { name: 'text', type: 'string', default: long },
    { name: 'choice', type: 'string', enum: [long, 'y'] },
  ]
  expect(callOf({ parameters })).toMatchObject({ parameters: { text: '<string>', choice: '<string>' } })
})

test('a schema of any shape gives a call', () => {
  const input_schema = {
    properties: { a: true, b: { type: ['string', 'null'] }, c: { enum: 'x' }, d: { default: null } },
  }
  expect(callOf({ input_schema })?.['parameters']).toEqual({ a: '<any>', b: '<any>', c: '<any>', d: null })
  expect(callOf({ input_schema: { properties: [] } })?.['parameters']).toEqual({})
})
