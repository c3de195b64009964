import { expect, test } from 'vitest'
import { commandOf } from './command-of.ts'

test.each([
  [{ call: 'search', arguments: { query: 'mcp:*' } }, "kiwi search 'mcp:*'"],
  [{ call: 'search', arguments: { query: 'x', item_type: 'directive' } }, 'kiwi search x --type directive'],
  [{ call: 'search', arguments: { query: '', source: 'project' } }, 'kiwi search --source project'],
  [
    { call: 'search', arguments: { query: 'my runtime', tool_type: 'runtime' } },
    "kiwi search 'type:runtime my runtime'",
  ],
  [{ call: 'load', arguments: { item_type: 'tool', item_id: 'a' } }, 'kiwi load a'],
  [
    { call: 'execute', arguments: { item_type: 'directive', action: 'run', item_id: 'd' } },
    'kiwi run d --type directive',
  ],
  [{ call: 'execute', arguments: { item_type: 'tool', action: 'run', item_id: 'a', run_id: 'r' } }, null],
] as const)('the next call as a person types it: %j', (fix, command) => {
  expect(commandOf(fix)).toBe(command)
})
