import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { inputSchema, parameterNames } from './input-schema.ts'
import { readManifest } from './manifest.ts'

const schemaOf = (given: JsonObject): JsonObject => inputSchema(manifestOf(given))
const manifestOf = (given: JsonObject) =>
  readManifest({ tool_id: 'a', tool_type: 'api', ...given }, { stem: null, category: null }).manifest

describe('T8: the parameters of an item as JSON Schema', () => {
  test('each is a property, those required are listed, and nothing else is allowed', () => {
    const parameters = [
      { name: 'city', type: 'string', required: true, description: 'Where' },
      { name: 'days', type: 'integer', default: 3, enum: [1, 3, 7], minimum: 1 },
      { name: 'extra', type: 'any' },
      { name: 'plain' },
    ]
    expect(schemaOf({ parameters })).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where' },
        days: { type: 'integer', default: 3, enum: [1, 3, 7], minimum: 1 },
        extra: {},
        plain: { type: 'string' },
      },
      required: ['city'],
      additionalProperties: false,
    })
  })

  test('without parameters nothing may be given', () => {
    expect(schemaOf({})).toEqual({ type: 'object', properties: {}, additionalProperties: false })
  })

  test('R28, N10: the schema of the author is kept as it is', () => {
    const input_schema = {
      type: 'object',
      properties: { b: { $ref: '#/$defs/x' } },
      $defs: { x: {} },
      title: 'T',
    }
    expect(schemaOf({ input_schema, parameters: [{ name: 'a' }] })).toEqual(input_schema)
  })
})

test('a template may use the names of the parameters, wherever they are declared', () => {
  expect(parameterNames(manifestOf({ parameters: [{ name: 'a' }, { name: 'b' }] }))).toEqual(
    new Set(['a', 'b']),
  )
  expect(parameterNames(manifestOf({ input_schema: { properties: { c: {} } } }))).toEqual(new Set(['c']))
  expect(parameterNames(manifestOf({ input_schema: { properties: ['c'] } }))).toEqual(new Set())
  expect(parameterNames(manifestOf({ input_schema: {} }))).toEqual(new Set())
})
