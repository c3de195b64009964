import { expect, test } from 'vitest'
import type { JsonObject } from '../../shared/json.ts'
import type { Overrides } from './overrides.ts'
import { fillArguments, readOverrides } from './overrides.ts'

const search: JsonObject = {
  name: 'search',
  description: 'Finds',
  inputSchema: {
    type: 'object',
    properties: { org: { type: 'string' }, query: { type: 'string' }, limit: { type: 'number' } },
    required: ['org', 'query'],
    anyOf: [{ required: ['org'] }, { required: ['limit'] }],
  },
}

function filled(overrides: Overrides, given: JsonObject): JsonObject | null {
  const sent = overrides.sent('search')
  return sent === null ? null : fillArguments(sent, given)
}

const read = (tools: JsonObject): Overrides => readOverrides('acme', { tools })

test('X10: a fixed argument is absent from the schema and present in the call, whatever the caller says', () => {
  const overrides = read({ overrides: { search: { arguments: { org: { fixed: 'ours' } } } } })
  const shown = overrides.show(search)
  expect(shown?.definition['inputSchema']).toEqual({
    type: 'object',
    properties: { query: { type: 'string' }, limit: { type: 'number' } },
    required: ['query'],
    anyOf: [{ required: [] }, { required: ['limit'] }],
  })
  expect(filled(overrides, { query: 'x', org: 'theirs' })).toEqual({ query: 'x', org: 'ours' })
})

test('X10: an argument has a default, another description, or is hidden', () => {
  const overrides = read({
    overrides: {
      search: {
        name: 'find',
        description: 'Finds ours',
        arguments: { org: { default: 'ours' }, query: { description: 'words' }, limit: { hide: true } },
      },
    },
  })
  const shown = overrides.show(search)
  expect(shown?.name).toBe('find')
  expect(shown?.definition).toMatchObject({
    name: 'find',
    description: 'Finds ours',
    inputSchema: {
      properties: {
        org: { type: 'string', default: 'ours' },
        query: { type: 'string', description: 'words' },
      },
      required: ['query'],
    },
  })
  expect(filled(overrides, { org: 'theirs', limit: 3 })).toEqual({ org: 'theirs' })
})

test('X10: fixed to false, null or nothing is fixed', () => {
  for (const fixed of [false, 0, '', null]) {
    const overrides = read({ overrides: { search: { arguments: { limit: { fixed } } } } })
    expect(filled(overrides, { limit: 9 })).toEqual({ limit: fixed })
  }
})

test('X10: tools are hidden by name, by what is included and by what is excluded', () => {
  expect(read({ overrides: { search: { hide: true } } }).show(search)).toBeNull()
  expect(read({ include: ['get_*'] }).show(search)).toBeNull()
  expect(read({ include: ['s*'], exclude: ['search'] }).show(search)).toBeNull()
  expect(read({ include: ['s*'] }).show(search)?.definition).toEqual(search)
  expect(read({ exclude: ['search'] }).originals('search')).toEqual([])
  expect(read({ exclude: ['search'] }).sent('search')).toBeNull()
})

test('X10: a renamed tool is reached by its new name alone, and never shadows another one', () => {
  const overrides = read({ overrides: { search: { name: 'find' } } })
  expect(overrides.originals('find')).toEqual(['find', 'search'])
  expect(overrides.originals('search')).toEqual([])
  expect(overrides.warnings([search])).toEqual([])
  expect(overrides.warnings([search, { name: 'find' }])).toEqual([
    'tools.overrides of "acme": "search" is not shown: "find" is a tool of the server already',
  ])
  expect(overrides.show(search, new Set(['search', 'find']))).toBeNull()
  expect(overrides.show(search, new Set(['search']))?.name).toBe('find')
  const swapped = read({ overrides: { a: { name: 'b' }, b: { name: 'a' } } })
  expect([swapped.originals('a'), swapped.originals('b')]).toEqual([['b'], ['a']])
  expect(swapped.warnings([{ name: 'a' }, { name: 'b' }])).toEqual([])
})

test('X10: what is not there is said, never passed over', () => {
  const overrides = read({
    include: ['search', 'nothing*'],
    overrides: {
      serach: { hide: true },
      search: { arguments: { orgg: { fixed: 1 }, query: { hide: true } } },
    },
  })
  expect(overrides.warnings([search])).toEqual([
    'tools.overrides of "acme": there is no tool "serach"',
    'tools.overrides of "acme": "search" has no argument "orgg"',
    'tools.overrides of "acme": "search" needs "query", so it is not hidden: say what is sent with "fixed"',
    'tools of "acme": no tool fits "nothing*"',
  ])
  expect(overrides.show(search)?.definition).toEqual(search)
})

test('X10: overrides that cannot be read are refused, by field', () => {
  for (const tools of [
    { overrides: { search: { hidden: true } } },
    { overrides: { search: { name: 'a b' } } },
    { include: 'search' },
  ]) {
    expect(() => read(tools)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }))
  }
})

test('X10: two tools with one new name are both kept from agents, and the others stay', () => {
  const overrides = read({ overrides: { a: { name: 'x' }, b: { name: 'x' }, c: { name: 'y' } } })
  const listed = [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }]
  expect(listed.map((tool) => overrides.show(tool)?.name ?? null)).toEqual([null, null, 'y', 'd'])
  // Only one that the server itself calls so.
  expect(overrides.originals('x')).toEqual(['x'])
  expect([overrides.sent('a'), overrides.sent('b')]).toEqual([null, null])
  expect(overrides.warnings(listed)).toHaveLength(2)
})
