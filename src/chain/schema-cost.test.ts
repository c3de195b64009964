import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { soon } from '../../test/fixtures/soon.ts'
import type { JsonObject } from '../shared/json.ts'
import { judgeSchema } from './schema-cost.ts'

const refused = (reason: string) =>
  expect.objectContaining({ code: 'SCHEMA_TOO_COSTLY', message: expect.stringContaining(reason) })
const judge = (schema: JsonObject): readonly string[] => [
  ...judgeSchema(schema, 'the parameters of "x"').recurring,
]

/** Each link offers the next one twice, so that following them takes 2 to the power of `links`. */
function doubling(
  links: number,
  refer: (link: number) => JsonObject,
  mark: (link: number) => JsonObject,
): JsonObject {
  const defs = Array.from({ length: links }, (_, link) => [
    `d${link}`,
    { ...mark(link), anyOf: [refer(link + 1), refer(link + 1)] },
  ])
  return {
    ...refer(0),
    $defs: Object.fromEntries([...defs, [`d${links}`, { ...mark(links), type: 'string' }]]),
  }
}
const byPlace = (link: number): JsonObject => ({ $ref: `#/$defs/d${link}` })
const unmarked = (): JsonObject => ({})

describe('PAR-08: alternatives behind references show their true cost', () => {
  test('a chain of 22 links in 1.4 kB is refused before it is compiled', async () => {
    const schema = doubling(22, byPlace, unmarked)
    expect(JSON.stringify(schema).length).toBeLessThan(1500)
    await soon(() =>
      expect(() => judge(schema)).toThrow(refused('the parameters of "x": it exceeds a cost of 20000')),
    )
  })

  test.each<[string, JsonObject]>([
    [
      'by anchor',
      doubling(
        22,
        (link) => ({ $ref: `#d${link}` }),
        (link) => ({ $anchor: `d${link}` }),
      ),
    ],
    [
      'by dynamic anchor',
      doubling(
        22,
        (link) => ({ $dynamicRef: `#d${link}` }),
        (link) => ({ $dynamicAnchor: `d${link}` }),
      ),
    ],
    ['by an encoded place', doubling(22, (link) => ({ $ref: `#%2F$defs%2Fd${link}` }), unmarked)],
    ['by an encoded letter', doubling(22, (link) => ({ $ref: `#/%24defs/d${link}` }), unmarked)],
    [
      'through if, then and else',
      doubling(22, (link) => ({ if: true, then: byPlace(link), else: byPlace(link) }), unmarked),
    ],
    [
      'through dependencies',
      doubling(22, (link) => ({ dependencies: { a: byPlace(link), b: byPlace(link) } }), unmarked),
    ],
    [
      'through properties',
      doubling(22, (link) => ({ properties: { a: byPlace(link), b: byPlace(link) } }), unmarked),
    ],
  ])('the same chain %s is refused', (_, schema) => {
    expect(() => judge(schema)).toThrow(refused('it exceeds a cost'))
  })

  test('a chain of 10 links is cheap enough', () => {
    expect(judge(doubling(10, byPlace, unmarked))).toEqual([])
  })

  test('every further alternative costs more, until it is too much', () => {
    const times = (length: number, schema: JsonObject): JsonObject => ({
      anyOf: Array.from({ length }, () => schema),
    })
    const flat = (size: number): JsonObject => ({
      ...times(size / 200, { $ref: '#/$defs/a' }),
      $defs: { a: times(198, { type: 'string' }) },
    })
    expect(judge(flat(19_800))).toEqual([])
    expect(() => judge(flat(20_200))).toThrow(refused('it exceeds a cost'))
  })

  test('thousands of references in a row end in a refusal, not in a full stack or a long wait', async () => {
    const row = Object.fromEntries(Array.from({ length: 8000 }, (_, link) => [`d${link}`, byPlace(link + 1)]))
    await soon(() =>
      expect(() => judge({ $ref: '#/$defs/d0', $defs: { ...row, d8000: {} } })).toThrow(refused('')),
    )
  })

  test('a schema inside may not have an $id, since references below it would start there', () => {
    expect(() => judge({ $defs: { inner: { $id: 'other', $ref: '#/$defs/x' } } })).toThrow(refused('"other"'))
    expect(judge({ $id: 'https://example.com/own', properties: { $id: { type: 'string' } } })).toEqual([])
  })
})

describe('recursion', () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ['a tree of the whole', { properties: { children: { items: { $ref: '#' } } } }, ['#']],
    [
      'a list of a definition',
      { $ref: '#/$defs/n', $defs: { n: { properties: { next: { $ref: '#/$defs/n' } } } } },
      ['#/$defs/n'],
    ],
    [
      'two definitions of each other',
      {
        $ref: '#/$defs/a',
        $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { items: { $ref: '#/$defs/a' } } },
      },
      ['#/$defs/a'],
    ],
    [
      'a place below properties',
      { properties: { a: { items: { $ref: '#/properties/a' } } } },
      ['#/properties/a'],
    ],
    ['the older word for it', { properties: { a: { $recursiveRef: '#' } } }, ['#']],
    ['names of properties', { propertyNames: { $ref: '#' } }, ['#']],
  ])('through the data passes and is named: %s', (_, schema, recurring) => {
    expect(judge(schema)).toEqual(recurring)
  })

  test.each<[string, JsonObject]>([
    ['to the whole', { $ref: '#' }],
    ['through allOf', { allOf: [{ $ref: '#' }] }],
    ['through anyOf', { anyOf: [{ type: 'string' }, { $ref: '#' }] }],
    ['through not', { not: { $ref: '#' } }],
    ['through if', { if: { $ref: '#' } }],
    ['through else', { if: true, else: { $ref: '#' } }],
    ['through dependentSchemas', { dependentSchemas: { a: { $ref: '#' } } }],
    ['through dependencies', { dependencies: { a: { $ref: '#' } } }],
    ['by a recursive reference', { anyOf: [{ $recursiveRef: '#' }] }],
    ['by a dynamic reference', { $dynamicAnchor: 'n', anyOf: [{ $dynamicRef: '#n' }] }],
    [
      'of two definitions',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ],
    [
      'of a definition that is only used below',
      { items: { $ref: '#/$defs/a' }, $defs: { a: { $ref: '#/$defs/a' } } },
    ],
    [
      'that was first met through the data',
      {
        $ref: '#/$defs/a',
        $defs: {
          a: { properties: { x: { $ref: '#/$defs/b' } }, allOf: [{ $ref: '#/$defs/b' }] },
          b: { allOf: [{ $ref: '#/$defs/a' }] },
        },
      },
    ],
  ])('in place is refused: %s', (_, schema) => {
    expect(() => judge(schema)).toThrow(refused('leads back to itself'))
  })

  test('in a definition nobody refers to does no harm', () => {
    expect(judge({ $defs: { a: { $ref: '#/$defs/a' } } })).toEqual([])
  })
})

describe('references', () => {
  test.each([
    'https://example.com/schema',
    'other.json#/a',
    '//example.com/x',
    'file:///etc/passwd',
    'urn:x',
    '',
  ])('N15: a reference to "%s" is refused, never fetched', (reference) => {
    expect(() => judge({ $ref: reference })).toThrow(refused('is not local'))
  })

  test.each(['#/$defs/none', '#none', '#/%', '#/properties/a/toString', '#/$defs/constructor'])(
    'one that leads nowhere is refused: %s',
    (reference) => {
      expect(() => judge({ properties: { a: {} }, $defs: {}, items: { $ref: reference } })).toThrow(
        expect.objectContaining({ code: 'INVALID_MANIFEST' }),
      )
    },
  )

  test('escaped names are found', () => {
    const $defs = { 'a/b': {}, 'c~d': {}, 'e f': {}, 'g%h': {} }
    for (const reference of ['#/$defs/a~1b', '#/$defs/c~0d', '#/$defs/e%20f', '#/$defs/g%25h']) {
      expect(judge({ $ref: reference, $defs })).toEqual([])
    }
  })

  test.each(['$ref', 'anyOf', '$defs', 'enum', '$id', '$anchor', 'properties', 'allOf', '$dynamicRef'])(
    'a property named "%s" is a property',
    (name) => {
      expect(judge({ type: 'object', properties: { [name]: { type: 'string' } } })).toEqual([])
      expect(() => judge({ properties: { [name]: { $ref: 'https://example.com' } } })).toThrow(
        refused('is not local'),
      )
    },
  )

  test.each(['enum', 'const', 'default', 'examples'])('what stands in "%s" is data', (keyword) => {
    expect(judge({ [keyword]: [{ $ref: 'https://example.com', $id: 'x', anyOf: [{ $ref: '#' }] }] })).toEqual(
      [],
    )
  })
})

test('whatever is put together, the judgement ends in a result or a typed refusal', () => {
  const names = fc.constantFrom('a', 'b', 'c')
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.constant({ type: 'string' }),
      names.map((name) => ({ $ref: `#/$defs/${name}` })),
      fc.array(tie('schema'), { maxLength: 3 }).map((anyOf) => ({ anyOf })),
      fc.dictionary(names, tie('schema'), { maxKeys: 3 }).map((properties) => ({ properties })),
      tie('schema').map((items) => ({ items })),
    ),
  }))
  fc.assert(
    fc.property(fc.record({ a: schema, b: schema, c: schema }), ($defs) => {
      try {
        judge({ $ref: '#/$defs/a', $defs })
      } catch (error) {
        expect(error).toMatchObject({ code: 'SCHEMA_TOO_COSTLY' })
      }
    }),
  )
})
