import { expect, test } from 'vitest'
import { ITEM_TYPES, itemTypeOf, TOOL_TYPES, TYPE_RULES } from './tool-type.ts'

test.each([
  ['primitive', null, false, 'tool'],
  ['runtime', { type: 'primitive' }, true, 'tool'],
  ['mcp_server', { type: 'primitive' }, true, 'mcp'],
  ['mcp_tool', { type: 'mcp_server' }, false, 'tool'],
  ['script', { type: 'runtime' }, true, 'tool'],
  ['api', { id: 'http_client' }, false, 'tool'],
  ['directive', { id: 'llm_runtime' }, true, 'directive'],
  ['thread', { id: 'llm_runtime' }, false, 'tool'],
  ['knowledge', null, true, 'knowledge'],
  ['composite', null, true, 'tool'],
] as const)(
  'T1, R2: a %s stands on %j, carries files: %s, and is called a %s',
  (type, executor, hasFiles, itemType) => {
    expect(TYPE_RULES[type]).toEqual({ executor, hasFiles })
    expect(itemTypeOf(type)).toBe(itemType)
  },
)

test('T1, S2: there are ten types of tool and four kinds of item', () => {
  expect(TOOL_TYPES.length).toBe(10)
  expect(Object.keys(TYPE_RULES).toSorted()).toEqual([...TOOL_TYPES].toSorted())
  expect(ITEM_TYPES).toEqual(['tool', 'directive', 'knowledge', 'mcp'])
})
