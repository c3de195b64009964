import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import { readArguments, readItemType } from './arguments.ts'

const refusal = (read: () => unknown): KiwiError => {
  try {
    read()
  } catch (error) {
    if (error instanceof KiwiError) return error
  }
  throw new Error('it was not refused')
}

describe('arguments', () => {
  test('what is left out has its default', () => {
    expect(readArguments('search', { query: 'x' })).toEqual({
      query: 'x',
      source: 'all',
      limit: 10,
      tags: [],
      sort_by: 'score',
    })
    expect(readArguments('load', { item_type: 'tool', item_id: 'x' })).toMatchObject({
      overwrite: false,
      offset: 0,
    })
    expect(readArguments('execute', { item_type: 'tool', action: 'run' })).toMatchObject({
      parameters: {},
      dry_run: false,
    })
    expect(readArguments('help', undefined)).toEqual({})
  })

  test('S14: what need not be given and is empty is not given; what must be given, or is unknown, is still said', () => {
    const blank = { item_type: '', source: null, limit: null, tags: null, project_path: '' }
    expect(readArguments('search', { query: '', ...blank })).toEqual(readArguments('search', { query: '' }))
    expect(
      readArguments('execute', { item_type: 'tool', action: 'run', parameters: null, run_id: '' }),
    ).toEqual(readArguments('execute', { item_type: 'tool', action: 'run' }))
    expect(refusal(() => readArguments('load', { item_type: 'tool', item_id: '' })).message).toContain(
      '"item_id"',
    )
    expect(refusal(() => readArguments('help', { page: null })).code).toBe('UNKNOWN_ARGUMENT')
  })

  test('S1: every unknown argument is refused by name, with those there are', () => {
    expect(refusal(() => readArguments('search', { query: 'x', filters: {}, page: 2 }))).toMatchObject({
      code: 'UNKNOWN_ARGUMENT',
      message: 'Cannot call search: it has no argument "filters", "page"',
      hint: expect.stringContaining('tool_type, category, tags'),
      details: { unknown: ['filters', 'page'] },
    })
    expect(
      refusal(() => readArguments('execute', { item_type: 'tool', action: 'run', name: 'Ada' })).hint,
    ).toContain('parameters')
  })

  test('S14: missing and wrong arguments are told apart and named', () => {
    expect(refusal(() => readArguments('load', { item_id: 7, limit: 0 }))).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { missing: ['item_type'], invalid: [{ name: 'item_id' }, { name: 'limit' }] },
    })
    expect(refusal(() => readArguments('search', { query: 'x', sort_by: 'luck' })).message).toContain(
      '"sort_by"',
    )
    expect(
      refusal(() => readArguments('execute', { item_type: 'tool', action: 'run', parameters: 'x' })).message,
    ).toContain('"parameters"')
    expect(refusal(() => readArguments('help', 'overview')).code).toBe('INVALID_PARAMETERS')
  })

  test('S2: other words for a tool are read, others are not', () => {
    expect(['tool', 'script', 'mcp_tool', 'directive', 'knowledge', 'mcp'].map(readItemType)).toEqual([
      'tool',
      'tool',
      'tool',
      'directive',
      'knowledge',
      'mcp',
    ])
    for (const given of ['Tool', ' tool', 'constructor', ''])
      expect(refusal(() => readItemType(given)).code).toBe('UNKNOWN_ITEM_TYPE')
  })
})
