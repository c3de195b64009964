import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readServers } from './read-servers.ts'
import type { ServerEntry } from './server-entry.ts'
import { mergeEntries, serverId } from './server-entry.ts'

const read = async (text: string) => readServers(text, 'mcp_registry.yaml')
const namesIn = async (text: string): Promise<readonly string[]> => [...(await read(text)).entries.keys()]

describe('M1: mcp_registry.yaml', () => {
  test('M1: the example of the format is read, every key of it', async () => {
    const { entries, faults } = await read(`mcps:
  supabase:
    type: stdio
    command: npx
    args: ["-y", "@supabase/mcp-server-supabase@latest"]
    env: {SUPABASE_ACCESS_TOKEN: "\${SUPABASE_ACCESS_TOKEN}"}
    description: Database operations
  filesystem:
    type: stdio
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem"]
    allowed_paths: ["\${PROJECT_PATH}", "~/.ai"]
  custom-api:
    type: sse
    url: https://api.example.com/mcp
    headers: {Authorization: "Bearer \${API_TOKEN}"}
  all:
    transport: websocket
    url: wss://example.com
    auth: {type: bearer, token: "\${T}"}
    startup_timeout: 10
    timeout: 60
    keep_alive: 300
    reconnect: true
    reconnect_delay: 5
    state: session
    tools: {include: [a], exclude: [b], overrides: {a: {name: c}}}
    sandbox: {level: fs}
    secrets: [T]
    enabled: false
`)
    expect(faults).toEqual([])
    expect([...entries.keys()]).toEqual(['supabase', 'filesystem', 'custom-api', 'all'])
    expect(entries.get('custom-api')?.entry).toMatchObject({
      type: 'sse',
      url: 'https://api.example.com/mcp',
    })
  })

  test.each([
    ['a list under mcps', 'mcps:\n  - {name: a, command: x}\n  - {name: b, url: "https://b"}\n'],
    ['a plain list', '- {name: a, command: x}\n- {name: b, command: y}\n'],
    ['the root of other clients', '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}'],
    ['entries that say nothing', 'mcps:\n  a:\n  b: {}\n'],
  ])('M1: %s is read', async (_, text) => {
    expect(await namesIn(text)).toEqual(['a', 'b'])
  })

  test.each(['', '# nothing yet\n', 'mcps:\n', 'mcps: {}\n'])('M1: %j names none', async (text) => {
    expect(await read(text)).toEqual({ entries: new Map(), faults: [] })
  })

  test('M1: every fault has its line and column, and one bad entry does not lose the others', async () => {
    const { entries, faults } = await read(
      [
        'mcps:',
        '  good: {command: x}',
        '  typo: {command: x, alowed_paths: [a]}',
        '  wrong:',
        '    command: x',
        '    timeout: soon',
        '  a.b: {command: x}',
        '  mcp_good: {command: x}',
        'mpcs: {}',
      ].join('\n'),
    )
    expect([...entries.keys()]).toEqual(['good'])
    expect(faults.map(({ name, line, column, reason }) => `${name} ${line}:${column} ${reason}`)).toEqual([
      'null 9:1 "mpcs" is not known: servers stand under "mcps"',
      'typo 3:22 "typo" has no key "alowed_paths": "allowed_paths" is probably meant',
      'wrong 6:5 "wrong.timeout" must be a number',
      'a.b 7:3 "a.b" is no name for a server: use letters, digits, "_" and "-"',
      'mcp_good 8:3 the server "mcp_good" is there twice',
    ])
  })

  test('M1: no fault shows a value', async () => {
    const { faults } = await read('mcps: {a: {command: 3, env: {T: [canary]}, headers: canary, auth: 7}}')
    expect(faults.length).toBeGreaterThan(0)
    expect(JSON.stringify(faults)).not.toContain('canary')
  })
})

describe('M1: what a nearer entry says', () => {
  const entry = fc.record(
    {
      command: fc.constantFrom('a', 'b'),
      args: fc.array(fc.constantFrom('x', 'y')),
      timeout: fc.integer({ min: 1, max: 9 }),
      enabled: fc.boolean(),
      description: fc.string(),
    },
    { requiredKeys: [] },
  )

  test('M1: wins key by key, and the rest is inherited', () => {
    fc.assert(
      fc.property(entry, entry, (below, over) => {
        expect(mergeEntries(below, over)).toEqual({ ...below, ...over })
      }),
    )
  })

  test('M1: another way to reach it keeps nothing of the old one', () => {
    const started: ServerEntry = { type: 'stdio', command: 'x', args: ['a'], env: { T: '${T}' }, timeout: 3 }
    expect(mergeEntries(started, { url: 'https://x' })).toEqual({ url: 'https://x', timeout: 3 })
    const reached: ServerEntry = { transport: 'sse', url: 'https://x', headers: { a: 'b' }, timeout: 3 }
    expect(mergeEntries(reached, { command: 'x' })).toEqual({ command: 'x', timeout: 3 })
    expect(mergeEntries(reached, { type: 'http' })).toMatchObject({ transport: 'http', url: 'https://x' })
  })

  test('M6: the item of a server', () => {
    expect([serverId('github'), serverId('mcp_github'), serverId('filesystem')]).toEqual([
      'mcp_github',
      'mcp_github',
      'mcp_filesystem',
    ])
  })
})
