import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { parameterLine } from './parameter-line.ts'

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    page: { type: 'integer' },
    query: { type: 'string' },
    state: { enum: ['open', 'closed'] },
    labels: { type: 'array', items: { type: 'string' } },
    edits: { type: 'array', items: { $ref: '#/$defs/edit' } },
    since: { anyOf: [{ type: 'null' }, { type: 'number' }] },
    free: {},
  },
  required: ['query', 'edits'],
  $defs: { edit: { type: 'object' } },
}

test('S3: what must be given comes first, a text has no type, choices are written out', () => {
  expect(parameterLine(SCHEMA, 200)).toBe(
    'query, edits: object[], page?: integer, state?: open|closed, labels?: string[], since?: number, free?',
  )
})

test('S3: what must be given is always named, of the rest as much as fits', () => {
  expect(parameterLine(SCHEMA, 48)).toBe('query, edits: object[], page?: integer, ...')
  expect(parameterLine(SCHEMA, 10)).toBe('query, edits, ...')
  expect(parameterLine(SCHEMA, 0)).toBe('query, edits, ...')
})

test('S3: where there is hardly any room, what must be given is cut between its names, and dots say so', () => {
  expect(parameterLine(SCHEMA, 0, 12)).toBe('query, edits, ...')
  expect(parameterLine(SCHEMA, 0, 11)).toBe('query, ...')
  expect(parameterLine(SCHEMA, 0, 0)).toBe('...')
  expect(parameterLine({ properties: { name: {} } }, 0, 0)).toBe('...')
  expect(parameterLine({}, 0, 0)).toBe('')
})

test('S3: where nothing must be given, the first is named however little room there is', () => {
  const schema = { properties: { name: { type: 'integer' }, all: { type: 'boolean' } } }
  expect(parameterLine(schema, 0)).toBe('name?, ...')
  expect(parameterLine({ properties: { name: { type: 'integer' } } }, 0)).toBe('name?')
})

test.each<readonly [JsonObject, string]>([
  [{}, ''],
  [{ type: 'object', properties: {} }, ''],
  [{ type: 'object', required: ['x'] }, 'x'],
  [{ $ref: '#/nowhere' }, ''],
  [{ properties: { a: true, b: { type: ['null', 'boolean'] } } }, 'a?, b?: boolean'],
  [{ properties: { __proto__x: { type: 7 } } }, '__proto__x?: any'],
])('whatever a schema is: %j', (schema, line) => {
  expect(parameterLine(schema, 100)).toBe(line)
})
