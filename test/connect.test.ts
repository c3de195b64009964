import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Wish } from '../src/kernel/call.ts'
import type { Reply } from '../src/shared/reply.ts'
import { clientPlaces, CLIENTS } from '../src/spaces/import/clients.ts'
import { readClientConfig } from '../src/spaces/import/client-config.ts'
import { withoutComments } from '../src/spaces/import/without-comments.ts'
import { parseToml } from '../src/spaces/parse-toml.ts'
import { textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

type Connect = Extract<Wish, { kind: 'connect' }>
const STARTED = { command: '/usr/bin/node', args: ['/opt/kiwi-mcp/dist/cli.js'] }

interface Asked extends Partial<Omit<Connect, 'kind' | 'client'>> {
  readonly isDryRun?: boolean
  readonly kind?: 'agent' | 'person'
}

const connect = (
  client: string | null,
  { isDryRun = false, kind = 'person', ...more }: Asked = {},
): Promise<Reply> =>
  temp.kiwi.act(
    {
      wish: () => ({
        kind: 'connect',
        client,
        started: STARTED,
        system: 'linux',
        to: 'user',
        replaces: false,
        withAgentsMd: false,
        ...more,
      }),
      operation: 'connect',
      subject: client ?? 'AGENTS.md',
      isDryRun,
    },
    { principal: 'user:ada', session: 's', kind, defaultProject: () => Promise.resolve(temp.project) },
  )
const put = (path: string, text: string): string => {
  const at = join(temp.folder, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  return at
}
const configIn = async (path: string): Promise<unknown> => {
  const text = readFileSync(path, 'utf8')
  return path.endsWith('.toml') ? parseToml(text, path) : JSON.parse(withoutComments(text))
}
const backups = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.bak'))

describe('X9: each client', () => {
  const ENTRIES: Readonly<Record<string, object>> = {
    'claude-code': { mcpServers: { kiwi: { type: 'stdio', ...STARTED } } },
    'claude-desktop': { mcpServers: { kiwi: STARTED } },
    cursor: { mcpServers: { kiwi: STARTED } },
    vscode: { servers: { kiwi: { type: 'stdio', ...STARTED } } },
    codex: { mcp_servers: { kiwi: STARTED } },
    gemini: { mcpServers: { kiwi: STARTED } },
    opencode: {
      mcp: {
        kiwi: { type: 'local', command: ['/usr/bin/node', '/opt/kiwi-mcp/dist/cli.js'], enabled: true },
      },
    },
  }

  test.each(CLIENTS.map(({ name }) => name))(
    'X9: %s gets Kiwi in a new file of its own, once',
    async (name) => {
      const { status, data } = await connect(name)
      expect(status).toBe('success')
      expect(data).toMatchObject({ client: name, backup: null, files: [{ state: 'created' }] })
      const path = textField(data, 'files', 0, 'path')
      expect(clientPlaces(temp.folder, null)).toContain(path)
      expect(await configIn(path)).toEqual(ENTRIES[name])
      const before = readFileSync(path)
      expect(await connect(name)).toMatchObject({
        status: 'success',
        data: { backup: null, files: [{ state: 'unchanged' }] },
      })
      expect(readFileSync(path)).toEqual(before)
      expect(backups(dirname(path))).toEqual([])
      // What was written is read again as Kiwi itself, and never taken over as another server.
      expect(await readClientConfig(path, { home: temp.folder, project: null })).toMatchObject([
        { entry: null, reason: 'it is Kiwi itself' },
      ])
    },
  )

  test.each(CLIENTS.filter(({ inProject }) => inProject !== null).map(({ name }) => name))(
    'X9: %s gets Kiwi in the config of a project',
    async (name) => {
      const { data } = await connect(name, { to: 'project', started: { command: 'kiwi', args: [] } })
      const path = textField(data, 'files', 0, 'path')
      expect(path.startsWith(`${temp.project}/`)).toBe(true)
      expect(JSON.stringify(await configIn(path))).toContain('"kiwi"')
    },
  )

  test.each([
    ['darwin', 'Library/Application Support/Claude/claude_desktop_config.json'],
    ['win32', 'AppData/Roaming/Claude/claude_desktop_config.json'],
    ['linux', '.config/Claude/claude_desktop_config.json'],
  ])('X9: on %s its file is where that system keeps it', async (system, place) => {
    await connect('claude-desktop', { system })
    expect(existsSync(join(temp.folder, place))).toBe(true)
  })
})

describe('X9: a config that is there', () => {
  const TEXT =
    '{\n  // my servers\n  "mcpServers": {\n    "other": { "command": "x", "env": { "TOKEN": "t-canary-1" } } // keep\n  },\n  "theme": "dark",\n}\n'

  test('X9: keeps its comments and all else, and a copy of it stands beside with its mode', async () => {
    const path = put('.cursor/mcp.json', TEXT)
    chmodSync(path, 0o600)
    const reply = await connect('cursor')
    expect(reply).toMatchObject({ status: 'success', data: { files: [{ path, state: 'changed' }] } })
    const text = readFileSync(path, 'utf8')
    expect(text).toContain('  // my servers\n')
    expect(text).toContain('"TOKEN": "t-canary-1" } }, // keep\n')
    expect(await configIn(path)).toMatchObject({
      theme: 'dark',
      mcpServers: { other: { command: 'x' }, kiwi: STARTED },
    })
    const backup = textField(reply.data, 'backup')
    expect(readFileSync(backup, 'utf8')).toBe(TEXT)
    expect([path, backup].map((file) => statSync(file).mode % 0o1000)).toEqual([0o600, 0o600])
    expect(JSON.stringify([reply, await temp.kiwi.store.records({ limit: 10 })])).not.toContain('canary')
  })

  test('X9: is copied each time it is changed, however soon after the last', async () => {
    const texts = ['{}', '{"a": 1}', '{"a": 2}']
    const kept: string[] = []
    for (const text of texts) {
      put('.cursor/mcp.json', text)
      kept.push(textField((await connect('cursor')).data, 'backup'))
    }
    expect(kept.map((path) => readFileSync(path, 'utf8'))).toEqual(texts)
  })

  test.each(['[]', '{"mcpServers": null}', '{"mcpServers": []}'])(
    'X9: %s is refused with what to write there by hand, and stays',
    async (text) => {
      const path = put('.cursor/mcp.json', text)
      const { error } = await connect('cursor')
      expect(error?.hint).toContain('Write there yourself: {"mcpServers":{"kiwi":{"command":')
      expect(readFileSync(path, 'utf8')).toBe(text)
    },
  )

  test('X9: with Kiwi under another name, at an address or with variables of its own is not given a second one', async () => {
    const named = put(
      '.cursor/mcp.json',
      '{"mcpServers": {"mine": {"command": "npx", "args": ["-y", "kiwi-mcp"], "env": {"A": "b"}}}}',
    )
    expect((await connect('cursor')).status).toBe('success')
    expect(await configIn(named)).toEqual({ mcpServers: { mine: { ...STARTED, env: { A: 'b' } } } })
    const text = '{"mcpServers": {"kiwi": {"url": "http://127.0.0.1:7717/mcp"}}}'
    const remote = put('.gemini/settings.json', text)
    expect((await connect('gemini')).data).toMatchObject({ files: [{ state: 'unchanged' }] })
    expect(readFileSync(remote, 'utf8')).toBe(text)
  })

  test.each([
    [
      '.cursor/mcp.json',
      'cursor',
      '{"mcpServers": {"kiwi": {"command": "uvx", "args": ["kiwi-db", "t-canary-2"], "env": {"A": "b"}}}}',
    ],
    [
      '.codex/config.toml',
      'codex',
      '[mcp_servers.kiwi]\ncommand = "uvx"\nargs = ["kiwi-db", "t-canary-2"]\n',
    ],
    [
      '.config/opencode/opencode.json',
      'opencode',
      '{"mcp": {"kiwi": {"type": "local", "command": ["uvx", "kiwi-db", "t-canary-2"]}}}',
    ],
  ])(
    'X9: another server that is called kiwi in %s gives way to a person’s word alone',
    async (place, client, text) => {
      const path = put(place, text)
      const { error } = await connect(client)
      expect(error).toMatchObject({
        code: 'CONFLICT',
        message: `Cannot connect ${client}: "kiwi" in "${path}" starts "uvx", which is not Kiwi`,
        hint: expect.stringContaining(`kiwi connect ${client} --replace`),
      })
      expect(JSON.stringify(error)).not.toContain('canary')
      expect(readFileSync(path, 'utf8')).toBe(text)
      const reply = await connect(client, { replaces: true })
      expect(reply).toMatchObject({ status: 'success', data: { files: [{ state: 'changed' }] } })
      expect(readFileSync(path, 'utf8')).toContain('/opt/kiwi-mcp/dist/cli.js')
      expect(readFileSync(path, 'utf8')).not.toMatch(/canary|"A"/)
      expect(readFileSync(textField(reply.data, 'backup'), 'utf8')).toBe(text)
    },
  )

  test('X9: of Codex keeps its comments, and its other tables', async () => {
    const path = put('.codex/config.toml', '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n')
    await connect('codex')
    expect(readFileSync(path, 'utf8')).toBe(
      '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.kiwi]\ncommand = "/usr/bin/node"\nargs = ["/opt/kiwi-mcp/dist/cli.js"]\n',
    )
  })

  test('X9: that is linked from elsewhere stays linked, and one with comments in its name is found', async () => {
    const real = put('dotfiles/mcp.json', '{}')
    mkdirSync(join(temp.folder, '.cursor'))
    symlinkSync(real, join(temp.folder, '.cursor/mcp.json'))
    expect((await connect('cursor')).status).toBe('success')
    expect(lstatSync(join(temp.folder, '.cursor/mcp.json')).isSymbolicLink()).toBe(true)
    expect(await configIn(real)).toMatchObject({ mcpServers: { kiwi: STARTED } })
    const commented = put('.config/opencode/opencode.jsonc', '{ /* x */ }')
    expect((await connect('opencode')).data).toMatchObject({ files: [{ path: commented, state: 'changed' }] })
  })

  test.each([
    ['.cursor/mcp.json', 'cursor', '{"mcpServers": {', 'PARSE_ERROR'],
    ['.cursor/mcp.json', 'cursor', '{"mcpServers": []}', 'CONFLICT'],
    ['.codex/config.toml', 'codex', 'a = \n', 'PARSE_ERROR'],
    ['.codex/config.toml', 'codex', 'mcp_servers = {}\n', 'CONFLICT'],
  ])('X9: %s that cannot be changed is left as it is (%#)', async (place, client, text, code) => {
    const path = put(place, text)
    expect((await connect(client, { withAgentsMd: true })).error).toMatchObject({
      code,
      hint: expect.stringMatching(/\S/),
    })
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(backups(dirname(path))).toEqual([])
    expect(existsSync(join(temp.project, 'AGENTS.md'))).toBe(false)
  })
})

describe('X9: AGENTS.md', () => {
  const agents = (): string => readFileSync(join(temp.project, 'AGENTS.md'), 'utf8')

  test('X9: without a client it alone is written', async () => {
    const path = join(temp.project, 'AGENTS.md')
    const before = readdirSync(temp.folder)
    const { data } = await connect(null, { withAgentsMd: true })
    expect(data).toMatchObject({ client: null, backup: null, files: [{ path, state: 'created' }] })
    expect(agents()).toContain('kiwi:begin')
    expect(readdirSync(temp.folder)).toEqual(before)
    expect((await connect(null, { withAgentsMd: true })).data).toMatchObject({
      output: expect.stringContaining('stays as it is'),
    })
    expect((await connect(null)).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { missing: ['client'] },
    })
  })

  test('X9: gets the lines that are shipped as knowledge, never twice, and the rest stays', async () => {
    writeFileSync(join(temp.project, 'AGENTS.md'), '# Ours\r\nBe kind.')
    const reply = await connect('cursor', { withAgentsMd: true })
    expect(reply).toMatchObject({ data: { files: [{ state: 'created' }, { state: 'changed' }] } })
    const text = agents()
    expect(text.startsWith('# Ours\r\nBe kind.\r\n\r\n<!-- kiwi:begin -->\r\n## Kiwi\r\n')).toBe(true)
    expect(text.split('\r\n').length).toBeLessThan(25)
    const { data } = await temp.load('agents-md', { item_type: 'knowledge' })
    const shipped = textField(data, 'files', 0, 'content').trim()
    expect(text.replaceAll('\r\n', '\n')).toContain(`<!-- kiwi:begin -->\n${shipped}\n<!-- kiwi:end -->\n`)
    expect(await connect('cursor', { withAgentsMd: true })).toMatchObject({
      data: { files: [{ state: 'unchanged' }, { state: 'unchanged' }] },
    })
    writeFileSync(join(temp.project, 'AGENTS.md'), `${text.replace('four tools', 'five tools')}## More\r\n`)
    await connect('cursor', { withAgentsMd: true })
    expect(agents()).toBe(`${text}## More\r\n`)
  })

  test('X9: a link that leads out of the project is not written through', async () => {
    const outside = put('outside.md', 'theirs')
    symlinkSync(outside, join(temp.project, 'AGENTS.md'))
    expect((await connect('cursor', { withAgentsMd: true })).error?.code).toBe('PERMISSION_DENIED')
    expect(readFileSync(outside, 'utf8')).toBe('theirs')
    expect(existsSync(join(temp.folder, '.cursor/mcp.json'))).toBe(false)
  })
})

describe('X9: who asks, and how', () => {
  test('X9: a dry run says what would be written, and writes nothing', async () => {
    const reply = await connect('vscode', { isDryRun: true, withAgentsMd: true })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: { entry: { type: 'stdio', ...STARTED }, files: [{ state: 'created' }, { state: 'created' }] },
    })
    expect(existsSync(join(temp.folder, '.config/Code'))).toBe(false)
    expect(existsSync(join(temp.project, 'AGENTS.md'))).toBe(false)
  })

  test('X9: it is a person who connects, and what they did is on record', async () => {
    expect((await connect('cursor', { kind: 'agent' })).error?.code).toBe('PERMISSION_DENIED')
    const { metadata } = await connect('cursor')
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(records).toMatchObject([
      { kind: 'outcome', status: 'success' },
      { kind: 'decision', status: 'allow' },
    ])
    expect(JSON.stringify(records)).toContain('.cursor/mcp.json')
  })

  test.each([
    ['curser', {}, 'Did you mean cursor? Known clients: claude-code, '],
    ['emacs', {}, 'Known clients: claude-code, '],
    ['claude-desktop', { to: 'project' as const }, 'Leave out --project'],
  ])('X9: %s: what cannot be connected is refused with what can', async (client, more, hint) => {
    expect((await connect(client, more)).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      hint: expect.stringContaining(hint),
    })
  })
})
