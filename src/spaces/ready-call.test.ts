import { describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { JsonObject } from '../shared/json.ts'
import { readManifest } from './manifest.ts'
import { readyCall } from './ready-call.ts'

const callOf = (given: JsonObject): JsonObject | null =>
  readyCall(
    readManifest({ tool_id: 'a', tool_type: 'api', ...given }, { stem: null, category: null }).manifest,
  )

test('S3, S6: the call names the item and what must be given; what may be left out is', () => {
  const parameters = [
    { name: 'city', type: 'string', required: true },
    { name: 'days', type: 'integer', default: 0 },
    { name: 'unit', enum: ['metric', 'imperial'], required: true },
    { name: 'flag', type: 'boolean', default: false, required: true },
    { name: 'extra', type: 'any', required: true },
    { name: 'note', type: 'string' },
  ]
  expect(callOf({ parameters })).toEqual({
    item_type: 'tool',
    action: 'run',
    item_id: 'a',
    parameters: { city: '<city>', unit: 'metric', flag: false, extra: '<extra>' },
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
    { name: 'text', type: 'string', default: long, required: true },
    { name: 'choice', type: 'string', enum: [long, 'y'], required: true },
  ]
  expect(callOf({ parameters })).toMatchObject({ parameters: { text: '<text>', choice: 'y' } })
})

test('S6: where one of several forms is needed, the first', () => {
  const properties = { command: { type: 'string' }, argv: { type: 'array' }, cwd: { type: 'string' } }
  const forms = [{ required: ['command'] }, { required: ['argv'] }]
  const one = { command: '<command>' }
  expect(callOf({ input_schema: { properties, oneOf: forms } })?.['parameters']).toEqual(one)
  expect(callOf({ input_schema: { properties, anyOf: forms } })?.['parameters']).toEqual(one)
})

test('a schema of any shape gives a call', () => {
  const input_schema = {
    required: ['a', 'b', 'c', 'd'],
    properties: { a: true, b: { type: ['string', 'null'] }, c: { enum: 'x' }, d: { default: null } },
  }
  expect(callOf({ input_schema })?.['parameters']).toEqual({ a: '<a>', b: '<b>', c: '<c>', d: null })
  expect(callOf({ input_schema: { properties: [] } })?.['parameters']).toEqual({})
})

describe('S6: of a tool of a server what must be given, in values that its schema accepts', () => {
  const exampleOf = (property: JsonObject, more: JsonObject = {}): unknown => {
    const input_schema = {
      type: 'object',
      properties: { it: property, other: { type: 'string' } },
      required: ['it'],
      ...more,
    }
    const call = callOf({ tool_type: 'mcp_tool', executor: 'mcp_acme', input_schema })
    expect(Object.keys(field(call, 'parameters') ?? {})).toEqual(['it'])
    return field(call, 'parameters', 'it')
  }
  const person = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }

  test.each<[string, JsonObject, unknown]>([
    ['a choice', { enum: [null, 'b', 'a'] }, 'b'],
    ['the only value', { const: 7 }, 7],
    ['a default', { type: 'integer', default: 3 }, 3],
    ['no default of another type', { type: 'integer', default: 'three' }, 1],
    ['a number from its least', { type: 'number', minimum: 10 }, 10],
    ['a number up to its most', { type: 'integer', maximum: -2 }, -2],
    ['a number between bounds', { type: 'number', exclusiveMinimum: 0, maximum: 0.5 }, 0.25],
    ['a multiple', { type: 'integer', multipleOf: 5 }, 5],
    ['yes or no', { type: 'boolean' }, false],
    ['a list of one', { type: 'array', items: person }, [{ name: '<name>' }]],
    [
      'a list of as many as it needs',
      { type: 'array', items: { type: 'string' }, minItems: 2 },
      ['<it>', '<it>2'],
    ],
    ['a list of anything', { type: 'array' }, []],
    [
      'an object in an object',
      { type: 'object', properties: { a: person, b: person }, required: ['b'] },
      { b: { name: '<name>' } },
    ],
    [
      'as many as it needs',
      { type: 'object', properties: { a: { type: 'null' }, b: {} }, minProperties: 1 },
      { a: null },
    ],
    ['the first alternative', { anyOf: [{ type: 'null' }, { type: 'integer' }] }, 1],
    ['one of several types', { type: ['null', 'boolean'] }, false],
    [
      'all parts',
      { allOf: [person, { properties: { age: { type: 'integer' } }, required: ['age'] }] },
      { name: '<name>', age: 1 },
    ],
    ['an address', { type: 'string', format: 'uri' }, 'https://example.com/'],
    ['a pattern', { type: 'string', pattern: '^(?:v|w)\\d{2}-[a-f0-9]+\\.x?$' }, 'v11-a.'],
    ['what is not a member', { type: 'string', pattern: '^[^a-z]$' }, '1'],
    ['a pattern that looks ahead', { type: 'string', pattern: '^(?=a)b' }, '<it>'],
    ['a short text', { type: 'string', maxLength: 2 }, 'it'],
    ['a long text', { type: 'string', minLength: 6 }, '<it>xx'],
    ['an odd type', { type: 'frobnicate' }, '<it>'],
  ])('%s', (_, property, expected) => {
    expect(exampleOf(property)).toEqual(expected)
  })

  test('what is referred to, also where it leads back to itself', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] }
    expect(JSON.stringify(exampleOf({ $ref: '#/$defs/node' }, { $defs: { node } })).length).toBeLessThan(200)
    expect(exampleOf({ $ref: '#/$defs/a~1b' }, { $defs: { 'a/b': person } })).toEqual({ name: '<name>' })
  })

  test('a schema that grows with each level stays small', () => {
    const names = Array.from({ length: 9 }, (_, at) => `k${at}`)
    const wide = { type: 'object', additionalProperties: { $ref: '#/$defs/wide' }, required: names }
    const example = JSON.stringify(exampleOf({ $ref: '#/$defs/wide' }, { $defs: { wide } }))
    expect(example.length).toBeLessThan(40_000)
  })
})
