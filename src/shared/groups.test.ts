import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { serverName } from './groups.ts'

test.each([
  ['mcp_github', 'github'],
  ['github_mcp', 'github'],
  ['github', 'github'],
  ['mcp_my_mcp', 'my'],
  ['mcp', 'mcp'],
  ['mcp_mcp', 'mcp'],
  ['_mcp', '_mcp'],
  ['filesystem', 'filesystem'],
  ['mcp_filesystem', 'mcp_filesystem'],
  ['filesystem_mcp', 'mcp_filesystem'],
])('M6, R4: the server %s is called %s', (id, name) => {
  expect(serverName(id)).toBe(name)
})

test('M6: a name that people say is its own name', () => {
  const part = fc.constantFrom('mcp', 'mcp_', '_mcp', '_', 'a', 'git', 'kiwi')
  const ids = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(fc.property(ids, (id) => serverName(serverName(id)) === serverName(id)))
})
