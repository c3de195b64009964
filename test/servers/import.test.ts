import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Wish } from '../../src/kernel/call.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { isJsonObject } from '../../src/shared/json.ts'
import { parseDocument } from '../../src/spaces/parse-document.ts'
import { field, listField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const person = (wish: Wish, isDryRun = false): Promise<Reply> =>
  temp.kiwi.act(
    { wish: () => wish, operation: 'import', subject: 'mcp', isDryRun },
    {
      principal: 'user:ada',
      session: 's',
      kind: 'person',
      defaultProject: () => Promise.resolve(temp.project),
    },
  )
const take = (files: readonly string[], isDryRun = false): Promise<Reply> =>
  person({ kind: 'import_servers', files, to: 'user' }, isDryRun)
const put = (path: string, content: unknown): string => {
  const target = join(temp.folder, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content))
  return target
}
const file = (): string => join(temp.config.userSpace, 'config', 'mcp_registry.yaml')
const servers = async (): Promise<unknown> =>
  existsSync(file()) ? (await parseDocument(readFileSync(file(), 'utf8'), 'x'))['mcps'] : {}
const lines = ({ data }: Reply): readonly string[] =>
  listField(data, 'servers').map((line) =>
    isJsonObject(line) ? [line['name'], line['state'], line['reason']].filter(Boolean).join(' ') : '',
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
    const reply = await take([put(path, content)])
    expect(reply.error).toBeNull()
    expect(await servers()).toEqual(expected)
  })

  test('N1: credentials go to the vault and are granted to their server, and are shown nowhere', async () => {
    const reply = await take([
      put('.mcp.json', { mcpServers: { a: { command: 'node', env: { API_KEY: TOKEN } } } }),
    ])
    expect(reply.data).toMatchObject({ servers: [{ name: 'a', state: 'imported', kept: ['API_KEY'] }] })
    const seen = [reply, readFileSync(file(), 'utf8'), await temp.kiwi.store.records({ limit: 20 })]
    expect(JSON.stringify(seen)).not.toContain(TOKEN)
    expect((await temp.kiwi.secrets()).secrets).toMatchObject([{ name: 'API_KEY' }])
    expect(await temp.kiwi.store.grants()).toMatchObject([{ tool: 'mcp_a', secret: 'API_KEY' }])
  })

  test('M1: Kiwi itself is left out, equal ones become one, another of the same name is left to the person', async () => {
    const one = put('.mcp.json', {
      mcpServers: {
        kiwi: { command: 'npx', args: ['-y', 'kiwi-mcp'] },
        other: { command: 'node', args: ['/x/kiwi-mcp/dist/cli.js'] },
        a: { command: 'a' },
        'my server': { command: 'b' },
        bad: { args: ['x'] },
      },
    })
    const two = put('.cursor/mcp.json', {
      mcpServers: { a: { command: 'a' }, 'my-server': { command: 'c' } },
    })
    expect(lines(await take([one, two]))).toEqual([
      'kiwi skipped it is Kiwi itself',
      'other skipped it is Kiwi itself',
      'a imported',
      'my-server imported',
      'bad skipped it has neither a command nor an address',
      'a unchanged',
      'my-server conflict another server "my-server" is there: kiwi remove my-server, or rename one of them',
    ])
    expect(lines(await take([two]))[0]).toBe('a unchanged')
  })

  test('M1: a dry run writes nothing, and an import is taken back whole', async () => {
    mkdirSync(dirname(file()), { recursive: true })
    const before = '# mine\nmcps:\n  own: {command: x}   # kept\n'
    writeFileSync(file(), before)
    const config = put('.mcp.json', { mcpServers: { a: { command: 'a' } } })
    expect(await take([config], true)).toMatchObject({
      status: 'dry_run',
      data: { servers: [{ state: 'imported' }] },
    })
    expect(readFileSync(file(), 'utf8')).toBe(before)
    const done = await take([config])
    expect(await servers()).toMatchObject({ own: { command: 'x' }, a: { command: 'a' } })
    const batch = String(field(done.data, 'batch'))
    expect(await person({ kind: 'undo_import', batch })).toMatchObject({ error: null })
    expect(readFileSync(file(), 'utf8')).toBe(before)
  })

  test('N17: without a file, home and a trusted project are looked at, a strange project is not', async () => {
    put('.cursor/mcp.json', { mcpServers: { mine: { command: 'a' } } })
    put('project/.mcp.json', { mcpServers: { theirs: { command: 'b' } } })
    expect(lines(await take([])).toSorted()).toEqual(['mine imported', 'theirs imported'])
    const strange = await openTempKiwi({ isTrusted: false })
    const trusted = temp
    try {
      temp = strange
      put('project/.mcp.json', { mcpServers: { theirs: { command: 'b' } } })
      const reply = await take([])
      expect(lines(reply)).toEqual([])
      expect(reply.data).toMatchObject({ not_imported: [{ reason: expect.stringContaining('trusted') }] })
    } finally {
      temp = trusted
      await strange.close()
    }
  })

  test('M1: a file without servers is an error, and so is an agent that asks', async () => {
    expect((await take([put('a.json', { x: 1 })])).error).toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect((await take([join(temp.folder, 'none.json')])).error).not.toBeNull()
  })
})
