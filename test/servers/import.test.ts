import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { isJsonObject } from '../../src/shared/json.ts'
import { textOf } from '../../src/shared/template.ts'
import { field, listField } from '../fixtures/field.ts'
import type { TempServers } from '../fixtures/temp-servers.ts'
import { openTempServers } from '../fixtures/temp-servers.ts'
import type { TempKiwi } from '../temp-kiwi.ts'

let bed: TempServers
let temp: TempKiwi
beforeEach(async () => {
  bed = await openTempServers()
  temp = bed.temp
})
afterEach(() => temp.close())

const lines = ({ data }: Reply): readonly string[] =>
  listField(data, 'servers').map((line) =>
    isJsonObject(line)
      ? ['name', 'state', 'reason']
          .map((key) => textOf(line[key] ?? ''))
          .join(' ')
          .trimEnd()
      : '',
  )
const TOKEN = 'a-long-token-1'

describe('M1: configs of other clients', () => {
  test.each<[string, unknown, unknown]>([
    [
      '.mcp.json',
      {
        mcpServers: {
          gh: {
            type: 'stdio',
            command: 'npx',
            args: ['-y', 'gh', '${ROOT:-/x}'],
            env: { GH_TOKEN: '${GH_TOKEN}' },
          },
          far: { type: 'http', url: 'https://x.example/mcp', headers: { Authorization: 'Bearer ${T}' } },
        },
      },
      {
        gh: { command: 'npx', args: ['-y', 'gh', '${ROOT:-/x}'], env: { GH_TOKEN: '${GH_TOKEN}' } },
        far: { type: 'http', url: 'https://x.example/mcp', headers: { Authorization: 'Bearer ${T}' } },
      },
    ],
    [
      'claude_desktop_config.json',
      { mcpServers: { a: { command: 'a', args: ['${literal}'], env: { API_KEY: TOKEN } } } },
      { a: { command: 'a', args: ['$${literal}'], env: { API_KEY: '${API_KEY}' } } },
    ],
    [
      '.cursor/mcp.json',
      { mcpServers: { a: { command: 'a', args: ['${workspaceFolder}/b'], env: { X: '${env:Y}' } } } },
      { a: { command: 'a', args: ['${PROJECT_PATH}/b'], env: { X: '${Y}' } } },
    ],
    [
      '.vscode/mcp.json',
      `{
        // servers of the team
        "inputs": [{"type": "promptString", "id": "api-key", "password": true}],
        "servers": {
          "a": {"type": "stdio", "command": "a", "env": {"KEY": "\${input:api-key}"}, "envFile": ".env",},
          "b": {"type": "sse", "url": "https://x.example/sse"}, /* far */
        }
      }`,
      {
        a: { command: 'a', args: [], env: { KEY: '${API_KEY}' } },
        b: { type: 'sse', url: 'https://x.example/sse' },
      },
    ],
    [
      '.codex/config.toml',
      '[mcp_servers.a]\ncommand = "a"\nargs = ["b"]\nstartup_timeout_sec = 20\n[mcp_servers.a.env]\nX = "1"\n[mcp_servers.far]\nurl = "https://x.example"\nbearer_token_env_var = "FAR_TOKEN"\n',
      {
        a: { command: 'a', args: ['b'], startup_timeout: 20, env: { X: '1' } },
        far: { type: 'http', url: 'https://x.example', auth: { type: 'bearer', token: '${FAR_TOKEN}' } },
      },
    ],
    [
      '.gemini/settings.json',
      {
        theme: 'dark',
        mcpServers: {
          a: { command: 'a', env: { K: '$KEY' }, timeout: 30_000, trust: true, includeTools: ['x'] },
          h: { httpUrl: 'https://x.example' },
          s: { url: 'https://x.example/sse' },
        },
      },
      {
        a: { command: 'a', args: [], env: { K: '${KEY}' }, timeout: 30, tools: { include: ['x'] } },
        h: { type: 'http', url: 'https://x.example' },
        s: { type: 'sse', url: 'https://x.example/sse' },
      },
    ],
    [
      'opencode.json',
      {
        mcp: {
          a: { type: 'local', command: ['npx', '-y', 'a'], environment: { K: '{env:KEY}' }, enabled: false },
          r: { type: 'remote', url: 'https://x.example' },
        },
      },
      {
        a: { command: 'npx', args: ['-y', 'a'], env: { K: '${KEY}' }, enabled: false },
        r: { type: 'http', url: 'https://x.example' },
      },
    ],
    [
      'nested/opencode.json',
      { mcp: { servers: { a: { type: 'local', command: ['a'] } } } },
      { a: { command: 'a', args: [] } },
    ],
  ])('M1: %s is read', async (path, content, expected) => {
    const reply = await bed.take([bed.put(path, content)])
    expect(reply.error).toBeNull()
    expect(await bed.servers()).toEqual(expected)
  })

  test('N1: credentials go to the vault and are granted to their server, and are shown nowhere', async () => {
    const reply = await bed.take([
      bed.put('.mcp.json', { mcpServers: { a: { command: 'node', env: { API_KEY: TOKEN } } } }),
    ])
    expect(reply.data).toMatchObject({ servers: [{ name: 'a', state: 'imported', kept: ['API_KEY'] }] })
    const seen = [reply, readFileSync(bed.file, 'utf8'), await temp.kiwi.store.records({ limit: 20 })]
    expect(JSON.stringify(seen)).not.toContain(TOKEN)
    expect((await temp.kiwi.secrets()).secrets).toMatchObject([{ name: 'API_KEY' }])
    expect(await temp.kiwi.store.grants()).toMatchObject([{ tool: 'mcp_a', secret: 'API_KEY' }])
  })

  test('M1: Kiwi itself is left out, equal ones become one, another of the same name is left to the person', async () => {
    const one = bed.put('.mcp.json', {
      mcpServers: {
        kiwi: { command: 'npx', args: ['-y', 'kiwi-mcp'] },
        other: { command: 'node', args: ['/x/kiwi-mcp/dist/cli.js'] },
        a: { command: 'a' },
        'my server': { command: 'b' },
        bad: { args: ['x'] },
      },
    })
    const two = bed.put('.cursor/mcp.json', {
      mcpServers: { a: { command: 'a' }, 'my-server': { command: 'c' } },
    })
    expect(lines(await bed.take([one, two]))).toEqual([
      'kiwi skipped it is Kiwi itself',
      'other skipped it is Kiwi itself',
      'a imported',
      'my-server imported',
      'bad skipped it has neither a command nor an address',
      'a unchanged',
      'my-server conflict another server "my-server" is there: kiwi remove my-server, or rename one of them',
    ])
    expect(lines(await bed.take([two]))[0]).toBe('a unchanged')
  })

  test('M1, R4: two spellings of one name are one server, and lose no other one', async () => {
    const config = bed.put('.mcp.json', {
      mcpServers: {
        a: { command: 'one' },
        mcp_a: { command: 'two' },
        a_mcp: { command: 'one' },
        b: { command: 'c' },
      },
    })
    expect(lines(await bed.take([config]))).toEqual([
      'a imported',
      'mcp_a conflict another server "a" is there: kiwi remove a, or rename one of them',
      'a_mcp unchanged',
      'b imported',
    ])
    expect(await bed.servers()).toEqual({ a: { command: 'one', args: [] }, b: { command: 'c', args: [] } })
    const later = bed.put('.cursor/mcp.json', { mcpServers: { mcp_b: { command: 'd' } } })
    expect(lines(await bed.take([later]))).toEqual([
      'mcp_b conflict another server "b" is there: kiwi remove b, or rename one of them',
    ])
  })

  test('M1: a dry run writes nothing, and an import is taken back whole', async () => {
    mkdirSync(dirname(bed.file), { recursive: true })
    const before = '# mine\nmcps:\n  own: {command: x}   # kept\n'
    writeFileSync(bed.file, before)
    const config = bed.put('.mcp.json', { mcpServers: { a: { command: 'a' } } })
    expect(await bed.take([config], true)).toMatchObject({
      status: 'dry_run',
      data: { servers: [{ state: 'imported' }] },
    })
    expect(readFileSync(bed.file, 'utf8')).toBe(before)
    const done = await bed.take([config])
    expect(await bed.servers()).toMatchObject({ own: { command: 'x' }, a: { command: 'a' } })
    const batch = String(field(done.data, 'batch'))
    expect(await bed.person({ kind: 'undo_import', batch })).toMatchObject({ error: null })
    expect(readFileSync(bed.file, 'utf8')).toBe(before)
  })

  test('N17: without a file, home and a trusted project are looked at, a strange project is not', async () => {
    bed.put('.cursor/mcp.json', { mcpServers: { mine: { command: 'a' } } })
    bed.put('project/.mcp.json', { mcpServers: { theirs: { command: 'b' } } })
    expect(lines(await bed.take([])).toSorted()).toEqual(['mine imported', 'theirs imported'])
    const strange = await openTempServers({ isTrusted: false })
    try {
      strange.put('project/.mcp.json', { mcpServers: { theirs: { command: 'b' } } })
      const reply = await strange.take([])
      expect(lines(reply)).toEqual([])
      expect(reply.data).toMatchObject({ not_imported: [{ reason: expect.stringContaining('trusted') }] })
    } finally {
      await strange.temp.close()
    }
  })

  test('M1: a file without servers is an error, and so is an agent that asks', async () => {
    expect((await bed.take([bed.put('a.json', { x: 1 })])).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
    })
    expect((await bed.take([join(temp.folder, 'none.json')])).error).not.toBeNull()
  })
})
