import { expect, test } from 'vitest'
import { ITEM_TYPES, itemTypeOf, TOOL_TYPES, TYPE_RULES } from './tool-type.ts'

test.each([
  ['primitive', { executor: null, hasFiles: false, isRun: false }, 'tool'],
  ['runtime', { executor: { type: 'primitive' }, hasFiles: true, isRun: false }, 'tool'],
  ['mcp_server', { executor: { type: 'primitive' }, hasFiles: true, isRun: false }, 'mcp'],
  ['mcp_tool', { executor: { type: 'mcp_server' }, hasFiles: false, isRun: true }, 'tool'],
  ['script', { executor: { type: 'runtime' }, hasFiles: true, isRun: true }, 'tool'],
  ['api', { executor: { id: 'http_client' }, hasFiles: false, isRun: true }, 'tool'],
  ['directive', { executor: { id: 'llm_runtime' }, hasFiles: true, isRun: true }, 'directive'],
  ['thread', { executor: { id: 'llm_runtime' }, hasFiles: false, isRun: false }, 'tool'],
  ['knowledge', { executor: null, hasFiles: true, isRun: true }, 'knowledge'],
  ['composite', { executor: null, hasFiles: true, isRun: false }, 'tool'],
] as const)('T1, R2: the rules of a %s are %j, and it is called a %s', (type, rules, itemType) => {
  expect(TYPE_RULES[type]).toEqual(rules)
  expect(itemTypeOf(type)).toBe(itemType)
})

test('T1, S2: there are ten types of tool and four kinds of item', () => {
  expect(TOOL_TYPES.length).toBe(10)
  expect(Object.keys(TYPE_RULES).toSorted()).toEqual([...TOOL_TYPES].toSorted())
  expect(ITEM_TYPES).toEqual(['tool', 'directive', 'knowledge', 'mcp'])
})
