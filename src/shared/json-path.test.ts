import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from './json.ts'
import { selectPath } from './json-path.ts'
import { LIMITS } from './limits.ts'

const DATA: JsonValue = {
  forecast: { daily: [1, 2, 3, 4, 5, 6, 7, 8, 9], city: 'Wien' },
  items: [
    { name: 'a', price: 5, tags: ['x', 'y'] },
    { name: 'b', price: 15, tags: [] },
    { name: 'c', price: 25, tags: ['x'] },
  ],
  'two words': { 'a.b': 1, ü: 2 },
  nothing: null,
  limit: 10,
}

describe('P11: a path selects', () => {
  test.each<readonly [string, JsonValue]>([
    ['$.forecast.daily[0:7]', [1, 2, 3, 4, 5, 6, 7]],
    ['forecast.daily[0:7]', [1, 2, 3, 4, 5, 6, 7]],
    ['$.forecast.daily[:2]', [1, 2]],
    ['$.forecast.daily[7:]', [8, 9]],
    ['$.forecast.daily[-2:]', [8, 9]],
    ['$.forecast.daily[::4]', [1, 5, 9]],
    ['$.forecast.daily[::-1]', [9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ['$.forecast.daily[0]', 1],
    ['$.forecast.daily[-1]', 9],
    ['$.forecast.daily[100]', null],
    ['$.forecast.daily[-100]', null],
    ["$['two words']['a.b']", 1],
    ['$["two words"]["ü"]', 2],
    ["['two words']['a.b']", 1],
    ['.forecast.city', 'Wien'],
    ['$.forecast.daily[0,-1]', [1, 9]],
    ['$.items[*].name', ['a', 'b', 'c']],
    ['$..name', ['a', 'b', 'c']],
    ['$.items[?@.price > 10].name', ['b', 'c']],
    ['$.items[?@.price > $.limit].name', ['b', 'c']],
    ['$.items[?@.tags[?@ == "x"]].name', ['a', 'c']],
    ['$.items[?count(@.tags[*]) == 2].name', ['a']],
    ['$.items[?length(@.name) == 1 && !@.missing].price', [5, 15, 25]],
    ['$.items[?@.name == "a"]..tags', [['x', 'y']]],
    ['$.items[?@.name == "..?"].name', []],
    ['$.nothing', null],
    ['$.a.b', null],
    ['$.items.name', null],
    ['$.forecast.city.length', null],
    ['$.nobody[*]', []],
    ['$', DATA],
  ])('%s', async (path, expected) => {
    expect(await selectPath(DATA, path)).toEqual(expected)
  })

  test('a path on an empty object gives null', async () => {
    expect(await selectPath({}, '$.a.b')).toBe(null)
  })

  test('what is falsy is not missing', async () => {
    const falsy: JsonValue = { zero: 0, no: false, empty: '' }
    expect(await Promise.all(['zero', 'no', 'empty'].map((path) => selectPath(falsy, path)))).toEqual([
      0,
      false,
      '',
    ])
  })

  test('any key can be reached by its quoted name', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.jsonValue(), async (key, value) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same type, without readonly
        const data = { [key]: value } as JsonValue
        expect(await selectPath(data, `$[${JSON.stringify(key)}]`)).toEqual(value)
      }),
    )
  })
})

const chain = (levels: number): JsonValue => {
  let value: JsonValue = { end: 1 }
  for (let level = 1; level < levels; level++) value = { a: value }
  return value
}

describe('PAR-10: a path runs no code and stays within bounds', () => {
  test.each([
    '$[?(@.constructor.constructor("return process")())]',
    '$.items[(@.length-1)]',
    '$.items[?(@.name.toString())]',
    '$.items[?match(@.name, "(a+)+")]',
    '$.items[?search(@.name, "(a+)+")]',
    '$.items[?@..name]',
    '$.items[?$..name == 1]',
    '$.items[?@.tags[?count(@..*) > 0]]',
    '$.items[',
    '$.items[?@.name == "]',
    '',
    '$$',
    `$${'[?@'.repeat(20_000)}`,
  ])('%s is refused', async (path) => {
    await expect(selectPath(DATA, path)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining(path.slice(0, 100)),
    })
  })

  test.each(['__proto__', 'constructor', 'toString', 'length', 'hasOwnProperty'])(
    'only own properties are seen: $.%s is missing',
    async (name) => {
      for (const data of [{}, [], 'text', 5]) expect(await selectPath(data, `$.${name}`)).toBe(null)
      expect(await selectPath([[], {}], `$[*].${name}`)).toEqual([])
    },
  )

  const MEGABYTE: JsonValue = Array.from({ length: 500_000 }, () => 0)

  test('$..* on a megabyte is refused, one place of it is not', async () => {
    await expect(selectPath(MEGABYTE, '$..*')).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    await expect(selectPath(MEGABYTE, '$[*]')).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    expect(await selectPath(MEGABYTE, '$[-1]')).toBe(0)
    expect(await selectPath([MEGABYTE], '$[?@[0] == 1]')).toEqual([])
  })

  test('a filter over a long list of records is no matter', async () => {
    const records = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `n${id}` }))
    expect(await selectPath({ records }, '$.records[?@.id == 49999].name')).toEqual(['n49999'])
  })

  test.each<readonly [string, string, JsonValue]>([
    ['descents behind each other', `$${'..*'.repeat(12)}..nobody`, chain(60)],
    ['the same place many times over', `$${'[*,*]'.repeat(40)}.nobody`, chain(60)],
    [
      'lists of equal places',
      `$[${'0,'.repeat(999)}0][${'0,'.repeat(999)}0]..x`,
      [[Array.from({ length: 1000 }, () => 1)]],
    ],
    [
      'filters that begin again at the root',
      `${'$[?'.repeat(6)}@ == 1${']'.repeat(6)}`,
      Array.from({ length: 400 }, () => 0),
    ],
    ['filters without a path', `$[${'0,'.repeat(999)}0][?1 == 2]`, [Array.from({ length: 10_000 }, () => 1)]],
    [
      'comparisons of large values',
      '$.a[?$.b == $.c]',
      {
        a: Array.from({ length: 2000 }, () => 0),
        b: Array.from({ length: 20_000 }, () => 0),
        c: Array.from({ length: 20_000 }, () => 0),
      },
    ],
  ])('%s end at the budget', async (_, path, data) => {
    await expect(selectPath(data, path)).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
  })

  test('a value as deep as any may be is searched to its end', async () => {
    expect(await selectPath(chain(LIMITS.nesting), '$..end')).toEqual([1])
  })
})
