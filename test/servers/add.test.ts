import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Wish } from '../../src/kernel/call.ts'
import { parseItemRef } from '../../src/shared/ids.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { parseDocument } from '../../src/spaces/parse-document.ts'
import type { ServerEntry } from '../../src/spaces/server-entry.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const SERVER = fileURLToPath(new URL('../fixtures/upstream.mjs', import.meta.url))
const MEMORY = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const TOKEN = 'a-long-token-1'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const send = (wish: Wish, kind: 'person' | 'agent' = 'person'): Promise<Reply> =>
  temp.kiwi.act(
    { wish: () => wish, operation: wish.kind, subject: 'x' },
    { principal: 'user:ada', session: 's', kind, defaultProject: () => Promise.resolve(temp.project) },
  )
const add = (name: string, entry: ServerEntry, to: 'user' | 'project' = 'user'): Promise<Reply> =>
  send({ kind: 'add_server', name, entry, to })
const remove = (name: string, from: 'user' | 'project' | null = null): Promise<Reply> =>
  send({ kind: 'remove_server', name, from })
const grant = (name: string, names: readonly string[]): Promise<Reply> =>
  send({
    kind: 'grant',
    ref: parseItemRef(name),
    names,
    sinks: [],
    principal: '*',
    expectedDigest: null,
  })
const file = (to: 'user' | 'project' = 'user'): string =>
  join(to === 'user' ? temp.config.userSpace : join(temp.project, '.ai'), 'config', 'mcp_registry.yaml')
const text = (to: 'user' | 'project' = 'user'): string => readFileSync(file(to), 'utf8')

describe('M1: a person adds a server', () => {
  test('M1: it stands in the file, and its tools can be called at once with what was typed', async () => {
    const reply = await add('own', { command: 'node', args: [SERVER], env: { MY_TOKEN: TOKEN } })
    expect(reply.data).toMatchObject({
      id: 'mcp_own',
      path: file(),
      kept: ['MY_TOKEN'],
      granted: ['MY_TOKEN'],
      next: [],
    })
    expect(text()).toContain('MY_TOKEN: ${MY_TOKEN}')
    temp.write(
      'tools/own.told.yaml',
      'tool_id: own.told\ntool_type: mcp_tool\nexecutor: mcp_own\nversion: 1.0.0\ndescription: e\ninput_schema: {type: object}\n',
    )
    const { data, error } = await temp.run('own.told')
    expect(error).toBeNull()
    expect(JSON.stringify(data)).toContain('[REDACTED')
    const records = await temp.kiwi.store.records({ limit: 20 })
    expect(JSON.stringify([reply, data, records])).not.toContain(TOKEN)
  })

  test('M1, X7: a name that a program gives is not taken for what was typed', async () => {
    await send({ kind: 'secret_command', name: 'MY_TOKEN', argv: ['env'] })
    const reply = await add('own', { command: 'node', args: [SERVER], env: { MY_TOKEN: TOKEN } })
    expect(reply.data).toMatchObject({ kept: ['OWN_MY_TOKEN'], granted: ['OWN_MY_TOKEN'], next: [] })
    expect((await temp.kiwi.secrets()).secrets).toMatchObject([
      { name: 'MY_TOKEN', command: [expect.stringContaining('/env')] },
      { name: 'OWN_MY_TOKEN', command: null },
    ])
    // Nor does one that a server asks for by its name have to be set again.
    const other = await add('other', { command: 'node', args: [SERVER], env: { T: '${MY_TOKEN}' } })
    expect(other.data).toMatchObject({ next: ['kiwi grant mcp_other MY_TOKEN'] })
  })

  test('M1: a shipped one by its name alone, with what it still needs', async () => {
    expect((await add('supabase', {})).data).toMatchObject({
      next: ['kiwi secret set SUPABASE_ACCESS_TOKEN', 'kiwi grant mcp_supabase SUPABASE_ACCESS_TOKEN'],
    })
    expect((await temp.load('supabase', { item_type: 'mcp' })).data).toMatchObject({ source: 'user' })
  })

  test('M1: at an address, in the project; comments and layout stay', async () => {
    mkdirSync(dirname(file('project')), { recursive: true })
    const before = '# ours\nmcps:\n  a: {command: x}   # first\n'
    writeFileSync(file('project'), before)
    const headers = { Authorization: `Bearer ${TOKEN}` }
    const reply = await add('far', { type: 'sse', url: 'https://x.example/mcp', headers }, 'project')
    expect(reply.error).toBeNull()
    expect(text('project')).toBe(
      `${before}  far:\n    type: sse\n    url: https://x.example/mcp\n    headers:\n      Authorization: Bearer \${FAR_TOKEN}\n`,
    )
    expect(await temp.kiwi.store.grants()).toMatchObject([{ tool: 'mcp_far', sink: 'host:x.example' }])
  })

  test('M1: several that are added at the same time are all there, and what is taken out meanwhile is not', async () => {
    await add('old', { command: 'node' })
    const names = Array.from({ length: 8 }, (_, n) => `s${n}`)
    const replies = await Promise.all([
      ...names.map((name) =>
        add(name, { command: 'node', env: { [`${name}_TOKEN`]: `a-long-token-${name}` } }),
      ),
      remove('old'),
    ])
    expect(replies.map(({ error }) => error)).toEqual(replies.map(() => null))
    const written = (await parseDocument(text('user'), 'x'))['mcps']
    expect(Object.keys(Object(written)).toSorted()).toEqual(names)
    expect((await temp.kiwi.secrets()).secrets).toHaveLength(8)
  })

  test('M1: of two who change the same server at once one is told', async () => {
    const replies = await Promise.all([add('one', { command: 'node' }), add('one', { command: 'bun' })])
    const [refused] = replies.flatMap(({ error }) => error ?? [])
    expect(replies.filter(({ error }) => error === null)).toHaveLength(1)
    expect(refused).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('changed meanwhile') })
  })

  test('M1: the project is told to be trusted first', async () => {
    const strange = await openTempKiwi({ isTrusted: false })
    const trusted = temp
    try {
      temp = strange
      expect((await add('a', { command: 'node' }, 'project')).data).toMatchObject({ next: ['kiwi trust'] })
    } finally {
      temp = trusted
      await strange.close()
    }
  })

  test.each<[string, ServerEntry, string]>([
    ['a.b', { command: 'x' }, 'Cannot use "a.b" as the name of a server'],
    ['nothing', {}, 'Cannot add "nothing": it has neither "command" nor "url"'],
  ])('M1: %s is refused', async (name, entry, message) => {
    const { error } = await add(name, entry)
    expect(error).toMatchObject({ code: 'INVALID_PARAMETERS', message: expect.stringContaining(message) })
  })

  test.each<[string, ServerEntry, string]>([
    [
      'credentials',
      { url: 'https://user:pw-canary@ex.com/mcp' },
      'its "url" holds credentials: leave them out',
    ],
    [
      'half a variable',
      { url: 'https://user:${PW}@ex.com/mcp' },
      'its "url" holds credentials: leave them out',
    ],
    ['ftp', { url: 'ftp://x' }, 'its "url" is no address that can be used'],
    ['a word', { url: 'notaurl' }, 'its "url" is no address that can be used'],
    ['another type', { type: 'http', url: 'wss://x.example' }, 'its "url" is one of a websocket'],
    ['a header of ours', { url: 'https://x.example', headers: { Host: 'y' } }, 'Host'],
  ])('M1, N1: an address with %s is refused before anything is written', async (_, entry, message) => {
    const { error } = await add('web', entry)
    expect(JSON.stringify(error)).toContain(JSON.stringify(message).slice(1, -1))
    expect(JSON.stringify(error)).not.toContain('pw-canary')
    expect(existsSync(file())).toBe(false)
  })

  test('M1: what an agent asks is refused', async () => {
    const wish = { kind: 'add_server', name: 'a', entry: { command: 'x' }, to: 'user' } as const
    expect((await send(wish, 'agent')).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  test('M1: a file of the same name stands in the way', async () => {
    temp.write(
      'tools/mcp_a.yaml',
      'tool_id: mcp_a\ntool_type: mcp_server\nexecutor: subprocess\nversion: 1.0.0\ndescription: a\nconfig: {command: x}\n',
    )
    expect((await add('a', { command: 'y' }, 'project')).error).toMatchObject({ code: 'CONFLICT' })
    expect((await add('a', { command: 'y' })).error).toBeNull()
  })
})

describe('M1: a person removes a server', () => {
  test('M1: with its grants; what is named twice is asked about', async () => {
    await add('a', { command: 'node', env: { MY_TOKEN: TOKEN } })
    await add('a', { timeout: 3 }, 'project')
    expect((await remove('a')).error).toMatchObject({ code: 'AMBIGUOUS_ID' })
    expect((await remove('a', 'project')).error).toBeNull()
    expect((await remove('a')).error).toBeNull()
    expect(await temp.kiwi.store.grants()).toEqual([])
    expect((await remove('a')).error).toMatchObject({ code: 'NOT_FOUND' })
    expect((await remove('github')).error?.hint).toContain('shipped')
  })
})

describe('N1: what a server asks for on its command line', () => {
  test.each<[string, readonly string[], string]>([
    ['--token=VALUE', ['--token=ghp_0123456789abcdefghijABCDEFGHIJ012345'], '--token=${OWN_TOKEN}'],
    ['--api-key VALUE', ['--api-key', 'sk-canary-0123456789abcdefXYZ'], '${OWN_API_KEY}'],
    ['a value alone', ['ghp_0123456789abcdefghijABCDEFGHIJ012345'], '${OWN_KEY}'],
  ])('N1, M1: %s goes to the vault, and the server starts with it', async (_, words, written) => {
    const reply = await add('own', { command: 'node', args: [MEMORY, ...words] })
    expect(reply).toMatchObject({ error: null, data: { next: [] } })
    expect(text()).toContain(written)
    const loaded = await temp.load('own', { item_type: 'mcp' })
    expect(loaded.error).toBeNull()
    expect((await temp.run('own.read_graph')).error).toBeNull()
    const records = await temp.kiwi.store.records({ limit: 20 })
    expect(JSON.stringify([reply, loaded, records])).not.toContain(words.at(-1)?.replace('--token=', ''))
  })

  test('N1, M8: a name there is asked for with the very commands that help, all at once', async () => {
    const args = [MEMORY, '--a=${A_KEY}', '${B_KEY}', '${C_KEY:-none}']
    const added = await add('own', { command: 'node', args, env: { D: '${D_KEY}' } })
    const names = 'A_KEY B_KEY D_KEY'
    expect(added.data).toMatchObject({
      next: [...names.split(' ').map((name) => `kiwi secret set ${name}`), `kiwi grant mcp_own ${names}`],
    })
    expect((await temp.run('own.read_graph')).error).toMatchObject({
      code: 'SECRET_NOT_GRANTED',
      hint: `A person has to run: kiwi grant mcp_own ${names}`,
    })
    expect((await grant('own', names.split(' '))).error).toBeNull()
    expect((await temp.run('own.read_graph')).error).toMatchObject({
      code: 'MISSING_SECRET',
      hint: 'Ask the person to run: kiwi secret set A_KEY, then kiwi secret set B_KEY, then kiwi secret set D_KEY',
    })
    for (const name of names.split(' ')) await send({ kind: 'secret', name, value: `${name}-long-enough` })
    expect((await temp.run('own.read_graph')).error).toBeNull()
  })

  test('N1: a server is granted something, and has it taken back, by the name that people call it', async () => {
    await add('own', { command: 'node', args: [MEMORY, '${A_KEY}'] })
    for (const name of ['own', 'mcp_own', 'own_mcp']) {
      expect([name, (await grant(name, ['A_KEY'])).error]).toEqual([name, null])
      expect(await temp.kiwi.store.grants()).toMatchObject([{ tool: 'mcp_own', secret: 'A_KEY' }])
      const back = await send({ kind: 'revoke_grant', tool: name, name: null })
      expect([name, back.error]).toEqual([name, null])
    }
    expect((await grant('own', ['Z_KEY'])).error?.hint).toContain(`its entry in ${file()}#own`)
  })
})

test.each([
  ['own', 'mcp_own'],
  ['own', 'own_mcp'],
  ['own_mcp', 'own'],
])('M1, R4: who has %s and adds %s changes the one there is', async (before, name) => {
  await add(before, { command: 'node', args: ['a'] })
  const reply = await add(name, { command: 'node', args: ['b'] })
  expect([reply.error, reply.data]).toMatchObject([
    null,
    { id: 'mcp_own', name: before, output: `Changed "${before}" in ${file()}` },
  ])
  expect(text()).toBe(`mcps:\n  ${before}:\n    command: node\n    args:\n      - b\n`)
})

test('M8: a server whose program is missing says so in words of a server, with what was tried', async () => {
  await add('gone', { command: 'no-such-program', args: ['--a', 'b'] })
  const call = { item_type: 'mcp', action: 'discover', item_id: 'gone' }
  expect((await temp.call('execute', call)).error).toMatchObject({
    code: 'COMMAND_NOT_FOUND',
    message: 'Cannot start the server "gone": its command "no-such-program" is not on the PATH',
    hint: `Install no-such-program, or correct "command" in ${file()}#gone`,
    details: {
      server: 'mcp_gone',
      tried: { transport: 'stdio', command: 'no-such-program', args: ['--a', 'b'] },
    },
  })
})
