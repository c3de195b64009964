import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
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

const take = (...files: readonly string[]): Promise<Reply> => bed.take(files)
const TOKEN = 'a-long-token-1'

describe('M1: what clients mean by their configs', () => {
  test('M1: servers that Claude Code keeps for this project alone are read, and before the others', async () => {
    bed.put('.claude.json', {
      mcpServers: { all: { command: 'a' }, both: { command: 'far' } },
      projects: {
        [temp.project]: { mcpServers: { near: { command: 'b', cwd: 'sub' }, both: { command: 'near' } } },
        '/elsewhere': { mcpServers: { other: { command: 'c' } }, history: [{ deep: true }] },
      },
    })
    const reply = await take()
    expect(reply.data).toMatchObject({ not_imported: [] })
    expect(await bed.servers()).toEqual({
      near: { command: 'b', args: [], cwd: join(temp.project, 'sub') },
      both: { command: 'near', args: [] },
      all: { command: 'a', args: [] },
    })
  })

  test('M1: only inputs with a password become secrets; a default is kept', async () => {
    const reply = await take(
      bed.put('.vscode/mcp.json', {
        inputs: [
          { type: 'promptString', id: 'key', password: true },
          { type: 'promptString', id: 'region', default: 'eu-1' },
          { type: 'pickString', id: 'mode', options: ['a', 'b'], default: 'b' },
          { type: 'promptString', id: 'team' },
        ],
        servers: {
          a: { command: 'node', args: ['${input:region}', '--mode=${input:mode}', '${input:key}'] },
          b: { command: 'node', env: { TEAM: '${input:team}', ROOT: '${DIR:-/x}' } },
        },
      }),
    )
    expect(await bed.servers()).toEqual({
      a: { command: 'node', args: ['eu-1', '--mode=b', '${KEY}'] },
      b: { command: 'node', args: [], env: { TEAM: '${TEAM:-}', ROOT: '${DIR:-/x}' } },
    })
    expect(reply.data).toMatchObject({
      servers: [
        { name: 'a', asked: ['KEY'], next: ['kiwi secret set KEY', 'kiwi grant mcp_a KEY'] },
        { name: 'b', asked: [], next: [], notes: [expect.stringContaining('${TEAM:-}')] },
      ],
    })
  })

  test.each<[string, string, unknown, unknown]>([
    [
      'an address that ends in /sse is one of events',
      '.cursor/mcp.json',
      {
        mcpServers: {
          a: { url: 'https://x.example/sse' },
          b: { type: 'http', url: 'https://x.example/sse' },
        },
      },
      { a: { type: 'sse', url: 'https://x.example/sse' }, b: { type: 'http', url: 'https://x.example/sse' } },
    ],
    [
      'a server that Gemini leaves out is switched off',
      '.gemini/settings.json',
      {
        mcp: { excluded: ['a'] },
        mcpServers: { a: { command: 'a' }, b: { command: 'b', excludeTools: ['x'] } },
      },
      {
        a: { command: 'a', args: [], enabled: false },
        b: { command: 'b', args: [], tools: { exclude: ['x'] } },
      },
    ],
    [
      'what Codex hands on is asked for',
      '.codex/config.toml',
      '[mcp_servers.a]\ncommand = "a"\nenv_vars = ["A_KEY", {name = "B_KEY"}]\n[mcp_servers.a.env]\nX = "1"\n',
      { a: { command: 'a', args: [], env: { A_KEY: '${A_KEY}', B_KEY: '${B_KEY}', X: '1' } } },
    ],
    [
      'a client that Cursor logs in with is ours',
      '.cursor/mcp.json',
      {
        mcpServers: {
          a: {
            url: 'https://x.example/mcp',
            auth: { CLIENT_ID: 'me', CLIENT_SECRET: '${env:OF_ME}', scopes: ['read'] },
          },
        },
      },
      {
        a: {
          type: 'http',
          url: 'https://x.example/mcp',
          auth: { type: 'oauth', client_id: 'me', client_secret: '${OF_ME}', scopes: ['read'] },
        },
      },
    ],
    [
      'what Claude Code counts in milliseconds is seconds here',
      '.mcp.json',
      { mcpServers: { a: { command: 'a', timeout: 600_000 }, b: { command: 'b', timeout: 45 } } },
      { a: { command: 'a', args: [], timeout: 600 }, b: { command: 'b', args: [], timeout: 45 } },
    ],
    [
      'a start in milliseconds and the scopes of a login are those of Codex',
      '.codex/config.toml',
      '[mcp_servers.a]\ncommand = "a"\nstartup_timeout_ms = 2500\n[mcp_servers.far]\nurl = "https://x.example"\nscopes = ["read"]\n',
      {
        a: { command: 'a', args: [], startup_timeout: 2.5 },
        far: { type: 'http', url: 'https://x.example', auth: { type: 'oauth', scopes: ['read'] } },
      },
    ],
    [
      'a variable that a client takes away is not there',
      '.vscode/mcp.json',
      { servers: { a: { command: 'a', env: { X: '1', GONE: null } } } },
      { a: { command: 'a', args: [], env: { X: '1' } } },
    ],
    [
      'the folder of the project is ours, however it is called',
      '.mcp.json',
      {
        mcpServers: {
          a: {
            command: '${CLAUDE_PROJECT_DIR}/a',
            args: ['${CLAUDE_PROJECT_DIR:-.}/b', '${workspaceFolder}'],
          },
        },
      },
      { a: { command: '${PROJECT_PATH}/a', args: ['${PROJECT_PATH}/b', '${PROJECT_PATH}'] } },
    ],
    [
      'a socket of Gemini is a websocket',
      '.gemini/settings.json',
      { mcpServers: { a: { tcp: 'ws://x.example/mcp' } } },
      { a: { type: 'websocket', url: 'ws://x.example/mcp' } },
    ],
  ])('M1: %s', async (_, path, content, expected) => {
    expect((await take(bed.put(path, content))).error).toBeNull()
    expect(await bed.servers()).toEqual(expected)
  })

  test('M1: of two ways to reach a server, and of a type that is none, it is told what is not used', async () => {
    const url = 'https://a.example/mcp'
    const mcpServers = { a: { command: 'node', url }, b: { type: 'pigeon', url }, c: { type: 'http', url } }
    expect((await take(bed.put('.mcp.json', { mcpServers }))).data).toMatchObject({
      servers: [
        { name: 'a', notes: ['left out: url'] },
        { name: 'b', notes: ['left out: type'] },
        { name: 'c', notes: [] },
      ],
    })
  })

  test('M1: what only a client can fill in is kept as text and told, and so is what of a login is left out', async () => {
    const reply = await take(
      bed.put('.cursor/mcp.json', {
        mcpServers: {
          a: { command: 'a', args: ['${workspaceFolderBasename}'] },
          b: { url: 'https://x.example', oauth: { clientId: 'me', callbackPort: 8080 } },
        },
      }),
    )
    expect(reply.data).toMatchObject({
      servers: [
        { name: 'a', next: [], notes: [expect.stringContaining('${workspaceFolderBasename}')] },
        { name: 'b', notes: ['left out: oauth.callbackPort'] },
      ],
    })
    expect(await bed.servers()).toMatchObject({ a: { args: ['$${workspaceFolderBasename}'] } })
  })

  test('M1: what is found without a file: settings of VS Code and comments of opencode too, and nothing is said of what has none', async () => {
    const servers = { mcp: { servers: { old: { command: 'a', env: { K: '${input:key}' } } } } }
    bed.put('.config/Code/User/settings.json', { 'editor.fontSize': 12, ...servers })
    bed.put(
      '.config/opencode/opencode.jsonc',
      '{ // mine\n"mcp": {"oc": {"type": "local", "command": ["b"]},}}',
    )
    bed.put('project/.vscode/settings.json', { 'editor.tabSize': 2 })
    bed.put('.claude.json', { numStartups: 1 })
    const reply = await take()
    expect(reply.data).toMatchObject({ not_imported: [] })
    expect(await bed.servers()).toEqual({
      old: { command: 'a', args: [], env: { K: '${KEY}' } },
      oc: { command: 'b', args: [] },
    })
  })

  test('M1, N17: what a person has switched off in Claude Code is off here', async () => {
    bed.put('project/.mcp.json', {
      mcpServers: Object.fromEntries(['a', 'b', 'c', 'on'].map((name) => [name, { command: name }])),
    })
    bed.put('project/.claude/settings.local.json', { disabledMcpjsonServers: ['b'] })
    bed.put('.claude/settings.json', { disabledMcpjsonServers: ['c'] })
    bed.put('.claude.json', {
      mcpServers: { mine: { command: 'mine' } },
      projects: {
        [temp.project]: {
          mcpServers: { near: { command: 'near' } },
          disabledMcpServers: ['near', 'mine'],
          disabledMcpjsonServers: ['a'],
        },
      },
    })
    const { data } = await take()
    const off = await bed.servers()
    expect(off).toMatchObject({ a: { enabled: false }, b: { enabled: false }, c: { enabled: false } })
    expect(off).toMatchObject({ near: { enabled: false } })
    // In other projects it is on.
    expect([field(off, 'on', 'enabled'), field(off, 'mine', 'enabled')]).toEqual([undefined, undefined])
    expect(field(data, 'servers', 0, 'notes')).toEqual(['switched off there'])
  })
})

describe('M1: files of variables', () => {
  const env = `# of the team\nAPI_KEY=${TOKEN}\nPLAIN="two words"\nexport MODE=file\nODD='\${HOME}'\n`
  const config = (envFile: string): unknown => ({
    mcpServers: { a: { command: 'a', env: { MODE: 'own' }, envFile } },
  })

  test.each([
    ['.env', 'work/.env'],
    ['${workspaceFolder}/conf/.env', 'project/conf/.env'],
  ])(
    'M1, N1: %s is read once, its credentials go to the vault, and the config itself counts more',
    async (written, at) => {
      bed.put(at, env)
      const reply = await take(bed.put('work/.cursor/mcp.json', config(written)))
      expect(reply.data).toMatchObject({
        servers: [
          { kept: ['API_KEY'], notes: [expect.stringContaining('what it says later does not count')] },
        ],
      })
      expect(await bed.servers()).toEqual({
        a: {
          command: 'a',
          args: [],
          env: { API_KEY: '${API_KEY}', PLAIN: 'two words', ODD: '$${HOME}', MODE: 'own' },
        },
      })
      expect(readFileSync(bed.file, 'utf8')).not.toContain(TOKEN)
    },
  )

  test.each([
    ['nowhere/.env', 'is not there'],
    ['../outside.env', 'lies elsewhere'],
    ['${config:x}/.env', 'lies elsewhere'],
  ])('M1, N1: %s is not read, and that is said', async (written, why) => {
    bed.put('outside.env', env)
    const reply = await take(bed.put('work/.cursor/mcp.json', config(written)))
    const notes = JSON.stringify(field(reply.data, 'servers', 0, 'notes'))
    expect([notes, await bed.servers()]).toEqual([
      expect.stringContaining(why),
      { a: { command: 'a', args: [], env: { MODE: 'own' } } },
    ])
  })

  test('M1: relative paths mean the folder that the config is for', async () => {
    await take(bed.put('work/.cursor/mcp.json', { mcpServers: { a: { command: './run', cwd: 'srv' } } }))
    const cwd = join(temp.folder, 'work/srv')
    expect(await bed.servers()).toEqual({ a: { command: join(cwd, 'run'), args: [], cwd } })
  })

  test('M1, N1: a server that could not be used is left out, and no password of it is written', async () => {
    const reply = await take(
      bed.put('.mcp.json', {
        mcpServers: { a: { url: `https://me:${TOKEN}@x.example` }, b: { command: 'b' } },
      }),
    )
    expect(reply.data).toMatchObject({
      servers: [{ name: 'a', state: 'skipped', reason: expect.stringContaining('holds credentials') }, {}],
    })
    expect(readFileSync(bed.file, 'utf8')).not.toContain(TOKEN)
  })

  test('N1: two servers with a variable of one name keep each its own value', async () => {
    await take(
      bed.put('.mcp.json', {
        mcpServers: {
          a: { command: 'a', env: { API_KEY: TOKEN } },
          b: { command: 'b', env: { API_KEY: 'another-token-2' } },
        },
      }),
    )
    expect(await bed.servers()).toMatchObject({
      a: { env: { API_KEY: '${API_KEY}' } },
      b: { env: { API_KEY: '${B_API_KEY}' } },
    })
  })

  test('N1: a value that stands in one config is not what a variable of that name stands for in another', async () => {
    const one = bed.put('.cursor/mcp.json', {
      mcpServers: { asks: { command: 'a', env: { API_KEY: '${env:API_KEY}' } } },
    })
    const two = bed.put('.mcp.json', { mcpServers: { has: { command: 'b', env: { API_KEY: TOKEN } } } })
    const reply = await take(one, two)
    expect(reply.data).toMatchObject({
      servers: [
        { name: 'asks', next: ['kiwi secret set API_KEY', 'kiwi grant mcp_asks API_KEY'] },
        { name: 'has', kept: ['HAS_API_KEY'], next: [] },
      ],
    })
    const again = await take(one, two)
    expect(again.data).toMatchObject({ servers: [{ state: 'unchanged' }, { state: 'unchanged' }] })
  })

  test.each([
    [String.raw`{"mcpServers": {"a": {"command": "C:\Program Files\a"}}}`, String.raw`\P is no escape`],
    ['{"mcpServers": {"a": {"command": "x" "args": []}}}', '"," or "}" is missing'],
    ["{'mcpServers': {'a': {'command': 'x'}}}", 'a key must stand in double quotes'],
  ])('M1: %s is no JSON, is told so with its place, and is not read as anything else', async (text, said) => {
    const file = join(temp.folder, 'mcp.json')
    writeFileSync(file, text)
    expect(await take(file)).toMatchObject({
      error: { code: 'PARSE_ERROR', message: expect.stringMatching(/\(line 1, column \d+\)$/) },
    })
    expect((await take(file)).error?.message).toContain(said)
    expect(await bed.servers()).toEqual({})
  })

  test('M1: a file that is not there is said to be not there', async () => {
    expect((await take('/nowhere/nofile.json')).error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot import "/nowhere/nofile.json": there is no such file',
    })
  })
})

describe('N1: an import of servers is taken back', () => {
  const bring = (): Promise<Reply> =>
    take(
      bed.put('.mcp.json', {
        mcpServers: {
          a: { command: 'a', env: { A_TOKEN: TOKEN } },
          b: { command: 'b', env: { B_TOKEN: 'another-token-2' } },
        },
      }),
    )
  const undo = (done: Reply): Promise<Reply> =>
    bed.person({ kind: 'undo_import', batch: String(field(done.data, 'batch')) })
  const names = async (): Promise<readonly string[]> =>
    (await temp.kiwi.secrets()).secrets.map(({ name }) => name)

  test('N1: its grants and secrets go with it', async () => {
    const undone = await undo(await bring())
    expect(undone.error).toBeNull()
    expect(await names()).toEqual([])
    expect(await temp.kiwi.store.grants()).toEqual([])
  })

  test('N1: a secret that was there before, or was changed since, stays', async () => {
    await bed.person({ kind: 'secret', name: 'A_TOKEN', value: TOKEN })
    const done = await bring()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await bed.person({ kind: 'secret', name: 'B_TOKEN', value: 'a-newer-token-3' })
    const { data } = await undo(done)
    expect(data).toMatchObject({ totals: { conflict: 1 } })
    expect(await names()).toEqual(['A_TOKEN', 'B_TOKEN'])
    expect(await temp.kiwi.store.grants()).toEqual([])
  })

  test('N1: where the servers stay because the file was changed, so does what they need', async () => {
    const done = await bring()
    writeFileSync(bed.file, `# mine\n${readFileSync(bed.file, 'utf8')}`)
    expect((await undo(done)).data).toMatchObject({ totals: { conflict: 1, removed: 0 } })
    expect(await names()).toEqual(['A_TOKEN', 'B_TOKEN'])
    expect(await temp.kiwi.store.grants()).toHaveLength(2)
  })
})
