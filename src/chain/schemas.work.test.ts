import { describe, expect, test } from 'vitest'
import { soon } from '../../test/fixtures/soon.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Findings } from './schemas.ts'
import { openSchemas } from './schemas.ts'

const schemas = openSchemas()
const check = async (schema: JsonObject, value: unknown): Promise<Findings | null> =>
  (await schemas.compile(schema, 'the parameters of "x"'))(value)

const list = <T>(length: number, item: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => item(index))
const named = (length: number, schema: JsonObject): JsonObject =>
  Object.fromEntries(list(length, (index) => [`p${index}`, schema]))

const TOO_LONG = { missing: [], invalid: [{ name: 'value', reason: 'takes too long to check' }] }

describe('N15: a schema that takes long to compile is refused', () => {
  test.each<[string, JsonObject]>([
    ['thousands of properties', { properties: named(4000, { type: 'string' }) }],
    [
      'thousands of properties inside others',
      { properties: named(2000, { properties: named(5, { type: 'string' }) }) },
    ],
    ['thousands of alternatives', { items: { anyOf: list(6000, (value) => ({ const: value })) } }],
    [
      'hundreds of properties in the last of hundreds',
      { properties: { ...named(300, {}), last: { properties: named(300, {}) } } },
    ],
    ['schemas in schemas', list(600, Number).reduce<JsonObject>((items) => ({ items }), {})],
    ['thousands of alternatives that say nothing', { oneOf: list(2000, () => true) }],
    ['thousands of definitions', { $defs: named(2000, { type: 'string' }) }],
    [
      'thousands of dependencies',
      { dependentRequired: Object.fromEntries(list(2000, (index) => [`p${index}`, ['a']])) },
    ],
  ])('%s', async (_, schema) => {
    await expect(soon(() => check(schema, {}))).rejects.toMatchObject({
      code: 'SCHEMA_TOO_COSTLY',
      message: expect.stringContaining('it has more than'),
    })
  })

  test.each<[string, JsonObject]>([
    ['properties', { properties: named(490, { type: 'string' }) }],
    ['alternatives', { anyOf: list(490, () => ({ type: 'object' })) }],
    ['exclusive alternatives', { not: { oneOf: list(490, () => ({ type: 'object' })) } }],
    ['demands', { allOf: list(490, () => ({ type: 'object' })) }],
    ['a question for the rest', { properties: named(490, {}), unevaluatedProperties: false }],
    [
      'blocks of many kinds',
      { items: { anyOf: list(30, () => ({ properties: named(50, { type: 'string' }) })) } },
    ],
    [
      'a large definition that is used often',
      { properties: named(20, { $ref: '#/$defs/a' }), $defs: { a: { properties: named(490, {}) } } },
    ],
  ])('the largest that is not still compiles and checks: %s', async (_, schema) => {
    await check({ type: 'object' }, {})
    expect(await soon(() => check(schema, {}))).toBeNull()
  })
})

describe('N15: what would take long to check is not checked', () => {
  test.each<[string, JsonObject, () => unknown]>([
    [
      'many values of a long enumeration',
      { items: { enum: list(8000, Number) } },
      () => list(400_000, () => 7999),
    ],
    [
      'many values of a long constant',
      { items: { const: list(50_000, Number) } },
      () => list(400_000, () => 1),
    ],
    [
      'many values of many alternatives',
      { items: { anyOf: list(490, (value) => ({ const: value })) } },
      () => list(10_000, () => 489),
    ],
    [
      'a large default for many',
      { items: { properties: { a: { default: list(5000, Number) } } } },
      () => list(200_000, () => ({})),
    ],
    [
      'a long text of many lengths',
      { allOf: list(490, (minLength) => ({ minLength })) },
      () => 'a'.repeat(4_000_000),
    ],
    ['a long text of a large pattern', { pattern: '[ab]*a[ab]{450}$' }, () => 'ab'.repeat(2_000_000)],
    [
      'many texts of a large pattern',
      { items: { pattern: '^[ab]*a[ab]{0,450}$' } },
      () => list(1000, () => 'ab'.repeat(2000)),
    ],
    [
      'many alternatives at every level',
      {
        $ref: '#/$defs/n',
        $defs: {
          n: { type: 'object', anyOf: list(300, () => ({ properties: { c: { $ref: '#/$defs/n' } } })) },
        },
      },
      () => ({ c: { c: { c: { c: 5 } } } }),
    ],
  ])('%s', async (_, schema, value) => {
    const checkValue = await schemas.compile(schema, 'x')
    const given = value()
    expect(await soon(async () => checkValue(given))).toEqual(TOO_LONG)
  })

  test.each<[string, JsonObject, () => unknown]>([
    ['a million numbers', { items: { type: 'number' } }, () => list(1_000_000, Number)],
    [
      'ten thousand rows with a time zone of six hundred',
      {
        items: {
          properties: { zone: { enum: list(600, (index) => `Area/${index}`) }, id: {}, name: {} },
        },
      },
      () => list(10_000, (id) => ({ id, name: 'x', zone: 'Area/599' })),
    ],
    [
      'a text of four megabytes among others',
      { properties: { ...named(50, { type: 'string' }), text: { type: 'string', pattern: '\\S' } } },
      () => ({ text: 'a'.repeat(4_000_000) }),
    ],
  ])('BEN-05: %s is checked to its end', async (_, schema, value) => {
    const checkValue = await schemas.compile(schema, 'x')
    const given = value()
    expect(await soon(async () => checkValue(given))).toBeNull()
  })
})
