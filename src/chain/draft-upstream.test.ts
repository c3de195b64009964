import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Request } from './draft-means.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import type { Draft } from './draft.ts'

const SECRET = 'canary-token'
const SERVER = fileURLToPath(new URL('../../test/fixtures/upstream.mjs', import.meta.url))

let temp: TempChain
beforeAll(async () => {
  temp = await openTempChain({ environment: { TOKEN: SECRET } })
  server('own', {})
})
afterAll(() => temp.close())

const server = (id: string, config: JsonObject, more: JsonObject = {}): void =>
  temp.tool(id, {
    tool_type: 'mcp_server',
    executor: 'subprocess',
    config: { transport: 'stdio', command: 'node', args: [SERVER], ...config },
    ...more,
  })
const remote = (id: string, config: JsonObject): void =>
  temp.tool(id, { tool_type: 'mcp_server', executor: 'http_client', config })
const tool = (id: string, name: string, config: JsonObject = {}, executor = 'own'): void =>
  temp.tool(id, {
    tool_type: 'mcp_tool',
    executor,
    config: { mcp_tool_name: name, ...config },
    input_schema: { type: 'object' },
  })
const output = async (id: string, parameters: JsonObject = {}): Promise<unknown> =>
  (await temp.run(id, parameters)).data['output']

describe('T1: a tool of an MCP server', () => {
  test('T1: is called by its name there, with its arguments, and nothing else is sent', async () => {
    tool('own.given', 'given')
    expect(await output('own.given', { a: [1, { b: null }] })).toEqual({
      name: 'given',
      arguments: { a: [1, { b: null }] },
    })
  })

  test('T1: without a name of its own it is called by its id behind the dot', async () => {
    temp.tool('own.echo', { tool_type: 'mcp_tool', executor: 'own', input_schema: { type: 'object' } })
    expect(await output('own.echo', { word: 'hi' })).toMatch(/^\d+ hi$/)
  })

  test.each([
    ['shape', { output: { rows: 2 }, content: [{ type: 'text', text: 'in words' }] }],
    [
      'picture',
      {
        output: 'a\nb',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'AA==', mimeType: 'image/png' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
    [
      'unsafe',
      {
        output: '{"__proto__":{"x":1}}',
        encoding: 'json',
        content: [{ type: 'text', text: 'as text' }],
      },
    ],
  ])('T1: what %s gives back becomes the result', async (name, data) => {
    tool(`own.${name}`, name)
    const source = { server: expect.any(String), trust: 'untrusted' }
    expect((await temp.run(`own.${name}`)).data).toEqual({ ...data, source })
  })

  test('T1: what it reports as failed has failed, in its own words', async () => {
    tool('own.fails', 'fails')
    await expect(temp.run('own.fails')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot run "own.fails": it says "no such table"',
    })
  })

  test('T1: all tools of a server share one process, which knows nothing of a single call', async () => {
    tool('own.a', 'told')
    tool('own.b', 'told')
    const [one, other] = [await output('own.a', { x: 1 }), await output('own.b')]
    expect(Number(field(other, 'calls'))).toBe(Number(field(one, 'calls')) + 1)
    const env = field(one, 'env')
    expect(Object.keys(typeof env === 'object' && env !== null ? env : {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^KIWI_(?:PARAM|CALL)/)]),
    )
    expect(field(one, 'cwd')).toBe(realpathSync(temp.project))
  })

  test('T1: a call that takes too long ends by the time of the tool', async () => {
    tool('own.never', 'never', { timeout: 0.05 })
    await expect(temp.run('own.never')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'Cannot call "own.never": it took longer than 0.05 s',
    })
  })
})

describe('a tool does not choose what its server is', () => {
  test('T1: command, arguments and variables of the tool change nothing', async () => {
    tool('own.sly', 'told', { args: ['-e', 'process.exit(9)'], env: { SLY: '1' }, command: 'false' })
    expect(field(await output('own.sly'), 'env', 'SLY')).toBeUndefined()
  })

  test('T1: another principal has a server of its own', async () => {
    tool('own.who', 'told')
    const plan = await temp.chain.resolver.current(parseItemRef('own.who'), temp.lookup)
    const draft = async (principal: string): Promise<unknown> =>
      (
        await temp.chain.draft(plan, {
          callId: 'c',
          principal,
          parameters: {},
          projectPath: temp.project,
          spaceRoot: null,
        })
      ).effect
    expect(field(await draft('ada'), 'key')).toBe(field(await draft('ada'), 'key'))
    expect(field(await draft('ada'), 'key')).not.toBe(field(await draft('bob'), 'key'))
  })
})

describe('what is not run', () => {
  test('T1: a tool whose server is switched off, which says how to switch it on', async () => {
    server('idle', {}, { enabled: false })
    tool('idle.x', 'x', {}, 'idle')
    await expect(temp.draft('idle.x')).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot run "idle.x": the server "idle" is switched off',
      hint: 'Ask the person to take "enabled: false" out of "idle" in the project space',
    })
  })

  test('T1: a server whose transport its executor cannot carry, or that nobody knows', async () => {
    server('far', { transport: 'streamable_http', url: 'https://example.com' })
    tool('far.x', 'x', {}, 'far')
    await expect(temp.draft('far.x')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      hint: 'Write executor: http_client',
    })
    server('odd', { transport: 'pigeon' })
    tool('odd.x', 'x', {}, 'odd')
    await expect(temp.draft('odd.x')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot use "odd": "pigeon" is not a transport',
    })
  })

  test('T1: a server itself, unless it is to be spoken to', async () => {
    await expect(temp.draft('own')).rejects.toMatchObject({
      code: 'UNKNOWN_ACTION',
      hint: 'Run one of its tools: own.<tool>; load shows them',
    })
  })
})

const spokenTo = async (id: string, more: Partial<Request> = {}): Promise<Draft> =>
  temp.chain.draft(await temp.plan(id), {
    callId: 'c',
    principal: 'ada',
    parameters: {},
    projectPath: temp.project,
    spaceRoot: null,
    isServerMeant: true,
    ...more,
  })
const upstreamOf = async (id: string, more: Partial<Request> = {}): Promise<UpstreamDraft> => {
  const { effect } = await spokenTo(id, more)
  if (effect.kind !== 'mcp') throw new TypeError('no server')
  return effect
}

describe('M1, M2: a server that is spoken to', () => {
  test('M2: shares the connection and the identity of its tools', async () => {
    tool('own.one', 'echo')
    const [itself, one] = [await upstreamOf('own'), await upstreamOf('own.one')]
    expect(itself).toMatchObject({ toolName: null, key: one.key, identity: one.identity })
    const params = { name: 'shape', arguments: {} }
    const answer = await temp.chain.relay(await spokenTo('own'), { method: 'tools/call', params })
    expect(answer).toMatchObject({ content: [{ text: 'in words' }], structuredContent: { rows: 2 } })
  })

  test('M1: has its times, and with state one connection for each session', async () => {
    server('timed', { startup_timeout: 3, timeout: 4, keep_alive: 5, state: 'session' })
    expect(await upstreamOf('timed')).toMatchObject({ startupMs: 3000, timeoutMs: 4000, keepAliveMs: 5000 })
    expect(await upstreamOf('own')).toMatchObject({
      startupMs: 10_000,
      timeoutMs: 60_000,
      keepAliveMs: 300_000,
    })
    const key = async (id: string, session: string): Promise<string> =>
      (await upstreamOf(id, { session })).key
    expect(await key('timed', 'one')).not.toBe(await key('timed', 'two'))
    expect(await key('own', 'one')).toBe(await key('own', 'two'))
  })

  test.each([
    ['http', 'https', 'http'],
    ['streamable_http', 'https', 'http'],
    ['sse', 'https', 'sse'],
    ['ws', 'wss', 'websocket'],
  ])('M2: at an address by %s', async (transport, scheme, read) => {
    const url = `${scheme}://example.com/mcp`
    remote('there', { transport, url, headers: { 'X-Team': 'a' } })
    expect((await upstreamOf('there')).server).toMatchObject({
      kind: 'remote',
      transport: read,
      request: { url, headers: { 'x-team': 'a' } },
      login: { id: 'there', url, terms: { isSaid: false } },
    })
  })

  test('M1: sends secrets in headers and credentials only where they were granted for', async () => {
    const url = 'https://example.com/mcp'
    remote('paid', { url, headers: { 'X-Key': '${TOKEN}' }, auth: { type: 'bearer', token: '${TOKEN}' } })
    await expect(spokenTo('paid')).rejects.toMatchObject({
      code: 'SECRET_NOT_GRANTED',
      hint: expect.stringContaining('kiwi grant paid TOKEN --to host:example.com'),
    })
    const { digest } = await temp.plan('paid')
    temp.grants.push({ tool: 'paid', hash: digest, names: ['TOKEN'] })
    expect((await upstreamOf('paid')).server).toMatchObject({
      request: { headers: { 'x-key': SECRET, authorization: `Bearer ${SECRET}` } },
    })
    expect((await upstreamOf('paid')).identity).not.toContain(SECRET)
  })

  test('X7: is worked out anew when a grant goes, in the very next call', async () => {
    remote('once', { url: 'https://example.com/mcp', headers: { 'X-Key': '${TOKEN}' } })
    const { digest } = await temp.plan('once')
    const grant = { tool: 'once', hash: digest, names: ['TOKEN'] }
    temp.grants.push(grant)
    const first = await upstreamOf('once')
    expect((await upstreamOf('once')).server).toEqual(first.server)
    temp.grants.splice(temp.grants.indexOf(grant), 1)
    await expect(upstreamOf('once')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
  })

  test('X1: that asks for a login says so, and sends nothing for it yet', async () => {
    remote('login', { url: 'https://example.com/mcp', auth: { type: 'oauth', scopes: ['a'] } })
    expect((await upstreamOf('login')).server).toMatchObject({
      request: { headers: {} },
      login: { id: 'login', url: 'https://example.com/mcp', terms: { isSaid: true, scopes: ['a'] } },
    })
  })

  test('X1: that asks for a login gets the secret of its client only where that was granted', async () => {
    const auth = { type: 'oauth', flow: 'client_credentials', client_id: 'me', client_secret: '${TOKEN}' }
    remote('alone', { url: 'https://example.com/mcp', auth })
    await expect(upstreamOf('alone')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
    const { digest } = await temp.plan('alone')
    temp.grants.push({ tool: 'alone', hash: digest, names: ['TOKEN'] })
    expect((await upstreamOf('alone')).server).toMatchObject({
      login: { terms: { clientId: 'me', clientSecret: SECRET, isOwn: true } },
    })
  })

  test('X1: whose headers hold a key needs no login', async () => {
    remote('keyed', { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer open' } })
    expect((await upstreamOf('keyed')).server).toMatchObject({ login: null })
    remote('keyed2', { url: 'https://example.com/mcp', auth: { type: 'api_key', key: 'open' } })
    expect((await upstreamOf('keyed2')).server).toMatchObject({ login: null })
  })

  test('X5: is another one by command, arguments, folder, address or names, and not by values', async () => {
    const identity = async (config: JsonObject): Promise<string> => {
      server('id', config)
      return (await upstreamOf('id')).identity
    }
    const plain = await identity({ env: { A: '1' } })
    expect(await identity({ env: { A: '2' } })).toBe(plain)
    expect(await identity({ env: { A: '1' }, timeout: 9 })).toBe(plain)
    for (const other of [{ env: { B: '1' } }, { args: [SERVER, 'x'] }, { env: { A: '1' }, cwd: '/' }])
      expect(await identity(other)).not.toBe(plain)
  })
})

describe('N1: a secret of a server', () => {
  test('N1: is granted to the server, and taken out of what it says and how it fails', async () => {
    server('safe', { env: { TOKEN: '${TOKEN}' } })
    tool('safe.told', 'told', {}, 'safe')
    await expect(temp.draft('safe.told')).rejects.toMatchObject({
      code: 'SECRET_NOT_GRANTED',
      details: { required: { tool: 'safe', names: ['TOKEN'] } },
    })
    const item = await temp.lookup.find(parseItemRef('safe'), 'mcp')
    if (item === null) throw new TypeError('it was just written')
    const hash = await temp.chain.digest([item], null)
    temp.grants.push({ tool: 'safe', hash, names: ['TOKEN'] })
    const said = await output('safe.told')
    expect(field(said, 'env', 'TOKEN')).not.toBe('canary-token')
    expect(JSON.stringify(said)).not.toContain('canary-token')
  })
})

describe('M8: a server that fails', () => {
  test('M8: tells what was tried, its last words and what to do', async () => {
    const program = "console.error('first'); console.error('bad token canary-token'); process.exit(3)"
    server('dies', { args: ['-e', program, '${PROJECT_PATH}'] })
    tool('dies.x', 'x', {}, 'dies')
    await expect(temp.run('dies.x')).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('ended with code 3'),
      details: {
        server: 'dies',
        tried: { transport: 'stdio', args: ['-e', program, temp.project] },
        stderr: 'first\nbad token canary-token',
      },
    })
  })

  test('M8: a token that is granted and not set is named, with the command that sets it', async () => {
    server('poor', { env: { NOT_SET: '${NOT_SET}', OPTIONAL: '${NOT_SET_EITHER:-}' } })
    tool('poor.x', 'x', {}, 'poor')
    const { digest } = await temp.plan('poor')
    temp.grants.push({ tool: 'poor', hash: digest, names: ['NOT_SET'] })
    await expect(temp.run('poor.x')).rejects.toMatchObject({
      code: 'MISSING_SECRET',
      message: 'Cannot run "poor": the variable NOT_SET is not set',
      hint: 'Ask the person to run: kiwi secret set NOT_SET',
    })
  })
})
