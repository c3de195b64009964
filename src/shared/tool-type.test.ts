import { expect, test } from 'vitest'
import { ITEM_TYPES, itemTypeOf, TOOL_TYPES, TYPE_RULES } from './tool-type.ts'

test.each([
  ['primitive', null, false, false, 'tool'],
  ['runtime', { type: 'primitive' }, true, false, 'tool'],
  ['mcp_server', { type: 'primitive' }, true, false, 'mcp'],
  ['mcp_tool', { type: 'mcp_server' }, false, false, 'tool'],
  ['script', { type: 'runtime' }, true, true, 'tool'],
  ['api', { id: 'http_client' }, false, true, 'tool'],
  ['directive', { id: 'llm_runtime' }, true, false, 'directive'],
  ['thread', { id: 'llm_runtime' }, false, false, 'tool'],
  ['knowledge', null, true, true, 'knowledge'],
  ['composite', null, true, false, 'tool'],
] as const)(
  'T1, R2: a %s stands on %j, carries files: %s, is run: %s, and is called a %s',
  (type, executor, hasFiles, isRun, itemType) => {
    expect(TYPE_RULES[type]).toEqual({ executor, hasFiles, isRun })
    expect(itemTypeOf(type)).toBe(itemType)
  },
)

test('T1, S2: there are ten types of tool and four kinds of item', () => {
  expect(TOOL_TYPES.length).toBe(10)
  expect(Object.keys(TYPE_RULES).toSorted()).toEqual([...TOOL_TYPES].toSorted())
  expect(ITEM_TYPES).toEqual(['tool', 'directive', 'knowledge', 'mcp'])
})
