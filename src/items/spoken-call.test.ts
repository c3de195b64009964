import { expect, test } from 'vitest'
import { asSpoken } from './spoken-call.ts'

const call = (item_type: string, item_id: string, parameters: unknown, action = 'call'): object => ({
  item_type,
  action,
  item_id,
  parameters,
})

test.each([
  [call('mcp', 'db', { tool: 'query', sql: 'x' }), call('tool', 'db.query', { sql: 'x' })],
  [call('mcp', 'db', { tool: 'query' }, 'run'), call('tool', 'db.query', {}, 'run')],
  [call('mcp', 'mcp_filesystem', { tool: 'read' }), call('tool', 'mcp_filesystem.read', {})],
  [call('mcp', 'db', { tool: 'a.b', Tool: 1 }), call('tool', 'db.a.b', { Tool: 1 })],
])('S12, M6: %j is %j', (given, spoken) => {
  expect(asSpoken(given)).toEqual(spoken)
})

test.each([
  call('mcp', 'db', { tool: 'x' }, 'delete'),
  call('mcp', 'db', { sql: 'x' }),
  call('mcp', 'db', { tool: '' }),
  call('mcp', 'db', { tool: 7 }),
  call('mcp', 'db.query', { tool: 'x' }),
  call('tool', 'db', { tool: 'x' }),
  call('mcp', 'db', undefined),
  null,
  'x',
])('S12: %j stays as it is', (given) => {
  expect(asSpoken(given)).toBe(given)
})
