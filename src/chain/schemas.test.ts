import { describe, expect, test } from 'vitest'
import { soon } from '../../test/fixtures/soon.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import { readItem } from '../spaces/read-item.ts'
import { scan } from '../spaces/scan.ts'
import { BUILTIN } from '../../test/fixtures/sample-item.ts'
import type { Findings } from './schemas.ts'
import { openSchemas } from './schemas.ts'

const schemas = openSchemas()
const check = async (schema: JsonObject, value: unknown): Promise<Findings | null> =>
  (await schemas.compile(schema, 'the parameters of "x"'))(value)

describe('T8: a value is checked, and every fault has a name', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer', minimum: 1, default: 7 },
      unit: { enum: ['c', 'f'], default: 'c' },
      at: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] },
      'a/b~c': { type: 'boolean' },
    },
    required: ['city', 'key'],
    additionalProperties: false,
  }

  test('nothing is found in what fits, and its defaults are filled in', async () => {
    const open = { type: 'object', properties: { city: { type: 'string' }, days: { default: 7 } } }
    const value = { city: 'Bern' }
    expect(await check(open, value)).toBeNull()
    expect(value).toEqual({ city: 'Bern', days: 7 })
  })

  test('a given value is not replaced by the default, and nested defaults are filled in', async () => {
    const value = { days: 0, deep: {} }
    const nested = { properties: { days: { default: 7 }, deep: { properties: { a: { default: [1] } } } } }
    expect(await check(nested, value)).toBeNull()
    expect(value).toEqual({ days: 0, deep: { a: [1] } })
  })

  test('defaults of one call are not shared with the next', async () => {
    const list = await schemas.compile({ properties: { tags: { default: ['a'] } } }, 'x')
    const [first, second] = [{}, {}] as { tags?: string[] }[]
    list(first)
    first?.tags?.push('b')
    list(second)
    expect(second).toEqual({ tags: ['a'] })
  })

  test('all missing and all wrong fields are named at once', async () => {
    const findings = await check(schema, { days: 0, unit: 'k', at: {}, colour: 'red', 'a/b~c': 1 })
    expect(findings?.missing.toSorted()).toEqual(['at.lat', 'city', 'key'])
    expect(findings?.invalid.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'a/b~c', reason: 'must be boolean' },
      { name: 'colour', reason: 'is not known here' },
      { name: 'days', reason: 'must be >= 1' },
      { name: 'unit', reason: 'must be one of ["c","f"]' },
    ])
  })

  test.each<[string, JsonObject, unknown, Findings['invalid'][number]]>([
    ['a wrong whole', { type: 'object' }, 'text', { name: 'value', reason: 'must be object' }],
    ['an item of a list', { items: { type: 'string' } }, ['a', 1], { name: '1', reason: 'must be string' }],
    ['a constant', { properties: { a: { const: 1 } } }, { a: 2 }, { name: 'a', reason: 'must be 1' }],
    [
      'a property that nothing covered',
      { properties: { a: {} }, unevaluatedProperties: false },
      { b: 1 },
      { name: 'b', reason: 'is not known here' },
    ],
    [
      'an item twice',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      { name: 'value', reason: 'must NOT have duplicate items' },
    ],
  ])('%s is named', async (_, given, value, expected) => {
    expect(await check(given, value)).toEqual({ missing: [], invalid: [expected] })
  })

  test('a flood of faults is cut to twenty', async () => {
    const findings = await check(
      { items: { type: 'string' } },
      Array.from({ length: 500 }, () => 1),
    )
    expect(findings?.invalid.length).toBe(20)
  })

  test('a schema that is none is refused with what it belongs to', async () => {
    await expect(check({ type: 'strin' }, 1)).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining('Cannot use the parameters of "x"'),
    })
  })

  test('C1: equal schemas are compiled once, whatever the order of their keys', async () => {
    const first = await schemas.compile({ type: 'object', title: 'same' }, 'x')
    expect(await schemas.compile({ title: 'same', type: 'object' }, 'y')).toBe(first)
    expect(await schemas.compile({ title: 'other', type: 'object' }, 'x')).not.toBe(first)
  })

  test('two schemas of one name do not get in the way of each other', async () => {
    const named = (type: string): JsonObject => ({ $id: 'https://example.com/s', type })
    expect(await check(named('string'), 'a')).toBeNull()
    expect(await check(named('number'), 'a')).not.toBeNull()
    expect(await check(named('string'), 1)).not.toBeNull()
  })

  test('a recursive schema is followed through the data', async () => {
    const tree = {
      type: 'object',
      properties: { left: { $ref: '#' }, right: { $ref: '#' } },
      additionalProperties: false,
    }
    expect(await check(tree, { left: { right: {} } })).toBeNull()
    expect(await check(tree, { left: { right: { up: 1 } } })).toEqual({
      missing: [],
      invalid: [{ name: 'left.right.up', reason: 'is not known here' }],
    })
  })
})

describe('N15: what comes from data cannot hold us up', () => {
  test('PAR-07: a catastrophic pattern is decided at once', async () => {
    const pattern = { type: 'string', pattern: '^(a+)+$' }
    await check(pattern, '')
    expect(await soon(() => check(pattern, `${'a'.repeat(40)}!`))).toMatchObject({
      invalid: [{ name: 'value' }],
    })
    expect(await soon(() => check(pattern, 'a'.repeat(10_000)))).toBeNull()
  })

  test('PAR-07: the names of pattern properties run on the same engine', async () => {
    const schema = { patternProperties: { '^(a+)+$': { type: 'number' } } }
    expect(await soon(() => check(schema, { [`${'a'.repeat(40)}!`]: 'x', aa: 1 }))).toBeNull()
  })

  test.each([
    ['^\\u0041+$', 'AA', 'B'],
    ['^[\\u4e00-\\u9fa5]+$', '中文', 'abc'],
    ['^(?<year>\\d{4})-\\d{2}$', '2026-01', '26-01'],
    ['^[^\\/]+\\/[^\\/]+$', 'owner/repo', 'owner'],
    ['^\\p{L}+$', 'Zürich', '42'],
    ['b', 'abc', 'ac'],
  ])('the pattern %s means what it means in JavaScript', async (pattern, fits, fails) => {
    expect(await check({ pattern }, fits)).toBeNull()
    expect(await check({ pattern }, fails)).not.toBeNull()
  })

  test.each([
    '^(?!x).+$',
    '(a)\\1',
    `^(?:${Array.from({ length: 10 }, (_, i) => `[^${i}]{999}`).join('|')})$`,
  ])('a pattern that cannot be bounded is refused: %.20s', async (pattern) => {
    await expect(check({ pattern }, 'a')).rejects.toMatchObject({ code: 'INVALID_MANIFEST' })
  })

  test('PAR-08: alternatives that recur do not double with every level of the data', async () => {
    const child = { properties: { c: { $ref: '#/$defs/n' } } }
    const schema = { $ref: '#/$defs/n', $defs: { n: { type: 'object', anyOf: [child, child] } } }
    let value: unknown = 5
    for (let level = 0; level < 60; level++) value = { c: value }
    const findings = await soon(() => check(schema, value))
    expect(findings).toEqual({ missing: [], invalid: [{ name: 'value', reason: 'takes too long to check' }] })
    expect(await check(schema, { c: { c: {} } })).toBeNull()
  })

  test('a large value of a recursive schema is checked to its end', async () => {
    const tree = { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } }
    const value = { children: Array.from({ length: 20_000 }, () => ({ children: [{}] })) }
    expect(await check(tree, value)).toBeNull()
  })

  test('many items are told apart without comparing each with each', async () => {
    const items = Array.from({ length: 50_000 }, (_, id) => ({ id }))
    expect(await soon(() => check({ uniqueItems: true }, items))).toBeNull()
  })

  test('of a large value that is wrong everywhere the first fault is named', async () => {
    const schema = {
      items: { $ref: '#/$defs/a' },
      $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { type: 'string' } },
    }
    const findings = await soon(() =>
      check(
        schema,
        Array.from({ length: 200_000 }, () => 1),
      ),
    )
    expect(findings).toMatchObject({ invalid: [{ name: '0', reason: 'must be string' }] })
  })

  test('a schema that calls itself asynchronous is checked like any other', async () => {
    expect(await check({ $async: true, type: 'object', required: ['a'] }, {})).toEqual({
      missing: ['a'],
      invalid: [],
    })
  })
})

describe('BEN-05: honest schemas pass', () => {
  test('those of every item that is shipped: at run time they are not checked for being schemas again', async () => {
    const entries = [...scan(BUILTIN, new Set()).values()]
    const items = await Promise.all(entries.map((entry) => readItem(entry, 'builtin')))
    expect(items.length).toBeGreaterThan(15)
    for (const { id, manifest } of items) {
      for (const schema of [inputSchema(manifest), manifest.config_schema, manifest.outputs]) {
        if (schema !== undefined) expect(await schemas.compile(schema, id)).toBeTypeOf('function')
      }
    }
  })

  test('only what is shipped is taken as it is', async () => {
    const broken: JsonObject = { type: 'object', properties: { a: { type: 'string' } }, required: [1] }
    await expect(openSchemas().compile(broken, 'x')).rejects.toThrow('Cannot use x: schema is invalid')
    const shipped = await openSchemas().compile(broken, 'x', true)
    expect(shipped({ a: 1 })).toMatchObject({ invalid: [{ name: 'a', reason: 'must be string' }] })
  })

  test.each<[string, JsonObject, JsonValue, JsonValue]>([
    [
      'an issue, in the dialect most servers send',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: {
          owner: { type: 'string', description: 'Repository owner' },
          repo: { type: 'string' },
          title: { type: 'string' },
          labels: { type: 'array', items: { type: 'string' } },
          milestone: { type: 'number' },
        },
        required: ['owner', 'repo', 'title'],
        additionalProperties: false,
      },
      { owner: 'a', repo: 'b', title: 'c', labels: ['d'] },
      { owner: 'a', repo: 'b' },
    ],
    [
      'a click, with an enumeration and a tuple of the old dialect',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: {
          element: { type: 'string' },
          button: { type: 'string', enum: ['left', 'right', 'middle'] },
          position: {
            type: 'array',
            items: [{ type: 'number' }, { type: 'number' }],
            minItems: 2,
            maxItems: 2,
          },
        },
        required: ['element'],
      },
      { element: 'e1', position: [1, 2] },
      { element: 'e1', position: [1, 'x'] },
    ],
    [
      'a property that repeats another one by its place',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: {
          from: { type: 'object', properties: { line: { type: 'integer', minimum: 0 } } },
          to: { $ref: '#/properties/from' },
        },
      },
      { from: { line: 1 }, to: { line: 2 } },
      { to: { line: -1 } },
    ],
    [
      'a query in the newest dialect',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          project_id: { type: 'string', pattern: '^[a-z]{20}$' },
          query: { type: 'string', minLength: 1 },
          limit: { anyOf: [{ type: 'integer', exclusiveMinimum: 0 }, { type: 'null' }], default: null },
        },
        required: ['project_id', 'query'],
      },
      { project_id: 'abcdefghijklmnopqrst', query: 'select 1' },
      { project_id: 'no', query: 'select 1' },
    ],
    [
      'a filter of filters, told apart by a constant',
      {
        type: 'object',
        properties: { filter: { $ref: '#/$defs/filter' } },
        $defs: {
          filter: {
            oneOf: [
              {
                type: 'object',
                properties: {
                  op: { const: 'and' },
                  of: { type: 'array', items: { $ref: '#/$defs/filter' } },
                },
                required: ['op', 'of'],
              },
              {
                type: 'object',
                properties: { op: { const: 'not' }, of: { $ref: '#/$defs/filter' } },
                required: ['op', 'of'],
              },
              {
                type: 'object',
                properties: { op: { const: 'is' }, field: { type: 'string' } },
                required: ['op', 'field'],
              },
            ],
          },
        },
      },
      { filter: { op: 'and', of: [{ op: 'not', of: { op: 'is', field: 'a' } }] } },
      { filter: { op: 'and', of: [{ op: 'not' }] } },
    ],
    [
      'blocks of blocks, with a condition',
      {
        $id: 'https://example.com/page.json',
        type: 'object',
        properties: { blocks: { type: 'array', items: { $ref: '#/definitions/block' } } },
        definitions: {
          block: {
            type: 'object',
            properties: {
              kind: { type: 'string', enum: ['text', 'list'] },
              text: { type: 'string', maxLength: 2000, format: 'markdown' },
              children: { type: 'array', items: { $ref: '#/definitions/block' } },
            },
            required: ['kind'],
            if: { properties: { kind: { const: 'text' } } },
            then: { required: ['text'] },
          },
        },
      },
      { blocks: [{ kind: 'list', children: [{ kind: 'text', text: 'a' }] }] },
      { blocks: [{ kind: 'list', children: [{ kind: 'text' }] }] },
    ],
    ['no parameters at all', { type: 'object', properties: {}, additionalProperties: false }, {}, { a: 1 }],
  ])('%s', async (_, schema, fits, fails) => {
    expect(await check(schema, fits)).toBeNull()
    expect(await check(schema, fails)).not.toBeNull()
  })
})
