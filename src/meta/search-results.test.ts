import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { field, listField } from '../../test/fixtures/field.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { JsonObject } from '../shared/json.ts'
import type { FoundItem } from './search-results.ts'
import { searchResults } from './search-results.ts'

function found(tool_id: string, description: string, properties: JsonObject = {}, required = 1): FoundItem {
  const raw = {
    tool_id,
    tool_type: 'api',
    executor: 'http_client',
    description,
    config: { url: 'https://example.com/' },
    input_schema: { type: 'object', properties, required: Object.keys(properties).slice(0, required) },
  }
  const hit = {
    row: 1,
    item_id: tool_id,
    name: tool_id,
    tool_type: 'api',
    description,
    space: 'project',
    path: `/home/me/project/.ai/tools/${tool_id}.yaml`,
    version: '1.0.0',
    updated_at: '2026-01-01T00:00:00.000Z',
    score: 1,
    why: ['name'],
  } as const
  return { hit, id: tool_id, item: sampleItem(raw) }
}

const LONG = 'Searches for something in a place that has a very long description. And then it goes on'
const many = Array.from({ length: 10 }, (_, n) =>
  found(`server.find_things_${n}`, LONG, { query: { type: 'string' }, page: { type: 'integer' } }),
)

const ABOUT = { total: 12_345, query: 'some words of a query' }

describe('S3: results', () => {
  test('few are whole, and so is whatever a person sees', () => {
    for (const shown of [searchResults(many.slice(0, 3), false, ABOUT), searchResults(many, true, ABOUT)]) {
      expect(Object.keys(shown)).toEqual(['results', 'total', 'query'])
      expect(field(shown, 'results', 2)).toMatchObject({
        id: 'server.find_things_2',
        description: LONG,
        source: 'project',
        path: expect.stringContaining('find_things_2'),
        why: ['name'],
        call: { item_type: 'tool', action: 'run', item_id: 'server.find_things_2' },
      })
    }
  })

  test('many are what it takes to choose one and to call it', () => {
    expect(searchResults(many, false, ABOUT)).toMatchObject({
      call_format: { item_type: 'tool', action: 'run', item_id: '<id>', parameters: {} },
      results: [
        {
          id: 'server.find_things_0',
          description: expect.stringMatching(/^Searches for something in a place.*[.]$/),
          parameters: 'query, page?: integer',
          call: { item_id: 'server.find_things_0', parameters: { query: '<query>' } },
        },
        ...many.slice(1).map(({ id }) => ({
          id,
          description: expect.stringMatching(/^Searches for something in a place/),
          parameters: 'query, page?: integer',
        })),
      ],
    })
  })

  test('one that is not run says so, one that was used after like searches too', () => {
    const [first = found('x', '')] = many
    const knowledge: FoundItem = {
      ...first,
      hit: { ...first.hit, tool_type: 'knowledge', why: ['body', 'used after like searches'] },
      item: null,
    }
    const shown = listField(searchResults([...many.slice(0, 4), knowledge], false, ABOUT), 'results')
    expect(shown[4]).toMatchObject({
      item_type: 'knowledge',
      call: null,
      why: ['used after like searches'],
    })
  })

  test('ten take at most 1,600 bytes, whatever they are called and say', () => {
    const name = fc.stringMatching(/^[a-z]{3,12}\.[a-z_]{1,28}$/)
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-zA-Z]{0,11}$/), { maxLength: 8 })
    const one = fc
      .tuple(name, fc.string({ unit: 'grapheme', maxLength: 400 }), names)
      .map(([id, text, keys]) =>
        found(id, `a ${text}`, Object.fromEntries(keys.map((key) => [key, { type: 'number' }]))),
      )
    fc.assert(
      fc.property(fc.array(one, { minLength: 4, maxLength: 10 }), (items) => {
        const shown = searchResults(items, false, ABOUT)
        expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(1600)
        expect(listField(shown, 'results')).toHaveLength(items.length)
      }),
      { numRuns: 60 },
    )
  })

  test('a query is not sent back whole when it is long', () => {
    for (const items of [many, many.slice(0, 1)]) {
      const shown = searchResults(items, false, { total: 1, query: '天'.repeat(4000) })
      expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(1600)
      expect(field(shown, 'query')).toMatch(/^天{40,}\.{3}$/)
    }
    const query = 'x'.repeat(4000)
    expect(searchResults(many, true, { total: 1, query })).toMatchObject({ query })
  })

  test('ten that must be given a lot take no more, and each says that it takes something', () => {
    const keys = Array.from({ length: 12 }, (_, n) => `a_rather_long_name_of_a_parameter_${n}`)
    const properties = Object.fromEntries(keys.map((key) => [key, { type: 'string' }]))
    for (const id of ['server.do_this', `server.${'x'.repeat(90)}`]) {
      const items = Array.from({ length: 10 }, (_, n) => found(`${id}_${n}`, LONG, properties, keys.length))
      const shown = searchResults(items, false, ABOUT)
      expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(1600)
      for (const result of listField(shown, 'results')) {
        expect(field(result, 'parameters')).toMatch(/\.{3}$/)
        // Where names alone take the room, there is none for more.
        expect(field(result, 'description')).toMatch(id.length > 90 ? /^/ : /^Searches for/)
      }
    }
  })
})
