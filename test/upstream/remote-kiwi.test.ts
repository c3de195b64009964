import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { parseItemRef } from '../../src/shared/ids.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { agree, openAuthorizationServer } from '../fixtures/authorization-server.ts'
import { field } from '../fixtures/field.ts'
import type { RemoteKind, RemoteServer } from '../fixtures/remote-servers.ts'
import { TOOLS, openRemoteServer } from '../fixtures/remote-servers.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

const TRANSPORTS: Readonly<Record<RemoteKind, string>> = {
  http: 'http',
  http_v1: 'http',
  sse: 'sse',
  websocket: 'websocket',
}
const POLL = { timeout: 10_000 }

const start = async (
  server: RemoteServer,
  more: Readonly<Record<string, unknown>> = {},
): Promise<TempKiwi> => {
  const hosts = [server.host, ...[more['issuer_host']].filter((host) => typeof host === 'string')]
  const temp = await openTempKiwi({ settings: { allow_hosts: hosts } })
  open.push(temp)
  const config = join(temp.config.userSpace, 'config')
  mkdirSync(config, { recursive: true })
  const entry = { type: TRANSPORTS[server.kind], url: server.url, description: 'Somewhere else' }
  writeFileSync(join(config, 'mcp_registry.yaml'), JSON.stringify({ mcps: { acme: entry } }))
  return temp
}

describe.each(['http', 'http_v1', 'sse', 'websocket'] as const)(
  'a server over %s, through the gate',
  (kind) => {
    test('M2: its tools are listed and called, and a call that is cancelled is cancelled there', async () => {
      const server = await openRemoteServer(kind)
      open.push(server)
      const temp = await start(server)
      const loaded = await temp.load('acme', { item_type: 'mcp' })
      expect(loaded.data).toMatchObject({ tools: TOOLS })
      expect(await temp.run('acme.echo', { word: 'hé' })).toMatchObject({ data: { output: 'hé' } })
      const controller = new AbortController()
      const call = { item_type: 'tool', action: 'run', item_id: 'acme.wait', parameters: {} }
      const waiting = temp.call('execute', call, controller.signal)
      const before = server.headers.length
      if (kind === 'http' || kind === 'http_v1')
        await expect.poll(() => server.headers.length, POLL).toBeGreaterThan(before)
      else await temp.run('acme.echo', { word: 'x' })
      controller.abort()
      expect(await waiting).toMatchObject({ error: { code: 'CANCELLED' } })
      await expect.poll(server.cancelled, POLL).toBe(1)
    })
  },
)

test('M5: a session that the server forgot is opened anew, and nobody has to ask again', async () => {
  const server = await openRemoteServer('http_v1')
  open.push(server)
  const temp = await start(server)
  await temp.load('acme', { item_type: 'mcp' })
  expect(await temp.run('acme.echo', { word: 'a' })).toMatchObject({ data: { output: 'a' } })
  server.forget()
  expect(await temp.run('acme.echo', { word: 'b' })).toMatchObject({ data: { output: 'b' } })
  expect(server.sessions.opened.length).toBe(2)
})

test.each([
  [400, { error: { code: -32000, message: 'Bad Request: No valid session ID provided' }, id: null }],
  [400, { error: { code: -32000, message: 'Bad Request: Server not initialized' } }],
  [400, { error: 'Invalid or missing session ID' }],
  [404, { error: { code: -32001, message: 'Session not found' } }],
])('M5: a session that is refused with %i and %j is opened anew too', async (status, refusal) => {
  let forgotten: string | null = null
  const server = await openRemoteServer('http_v1', (request, response) => {
    if (forgotten === null || request.headers['mcp-session-id'] !== forgotten) return true
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const id: unknown = text === '' ? null : JSON.parse(text).id
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...refusal }))
    })
    return false
  })
  open.push(server)
  const temp = await start(server)
  await temp.load('acme', { item_type: 'mcp' })
  expect(await temp.run('acme.echo', { word: 'a' })).toMatchObject({ data: { output: 'a' } })
  forgotten = server.sessions.opened.at(-1) ?? null
  expect(await temp.run('acme.echo', { word: 'b' })).toMatchObject({ data: { output: 'b' } })
  expect(server.sessions.opened.length).toBe(2)
})

describe('a server that wants a login', () => {
  const logIn = (temp: TempKiwi): Promise<Reply> =>
    temp.kiwi.act(
      {
        wish: () => ({
          kind: 'login',
          ref: parseItemRef('acme'),
          principal: '*',
          page: { opensBrowser: false, show: (address) => void agree(address) },
        }),
        operation: 'login',
        subject: 'acme',
      },
      { principal: 'user:ada', session: 's', kind: 'person', defaultProject: async () => temp.project },
    )

  test('X1, HTTP-06: says so, is logged in to, and is called with nothing but that login', async () => {
    const issuer = await openAuthorizationServer()
    open.push(issuer)
    const server = await openRemoteServer('http', issuer.admit)
    open.push(server)
    const temp = await start(server, { issuer_host: issuer.host })
    expect(await temp.load('acme', { item_type: 'mcp' })).toBeDefined()
    expect(await temp.run('acme.echo', { word: 'a' })).toMatchObject({
      error: { code: expect.stringMatching(/LOGIN_REQUIRED|NOT_FOUND/) },
    })
    const reply = await logIn(temp)
    expect(reply).toMatchObject({
      status: 'success',
      data: { output: 'Logged in to "acme"', scope: 'read' },
    })
    await temp.load('acme', { item_type: 'mcp' })
    expect(await temp.run('acme.echo', { word: 'b' })).toMatchObject({ data: { output: 'b' } })
    const tokens = new Set(
      server.headers.map(({ authorization }) => authorization).filter((sent) => sent !== undefined),
    )
    expect([...tokens]).toEqual([expect.stringMatching(/^Bearer at-/)])
    issuer.revokeAll()
    expect(await temp.run('acme.echo', { word: 'c' })).toMatchObject({
      error: { code: 'LOGIN_REQUIRED', hint: 'Ask the person to run kiwi login acme' },
    })
    expect(JSON.stringify(field(reply, 'data'))).not.toContain('at-')
  })

  test('X1: an agent cannot log in', async () => {
    const server = await openRemoteServer('http')
    open.push(server)
    const temp = await start(server)
    const reply = await temp.kiwi.act(
      {
        wish: () => ({ kind: 'login', ref: parseItemRef('acme'), principal: '*', page: null }),
        operation: 'logout',
        subject: 'acme',
      },
      { principal: 'local', session: 's', kind: 'agent', defaultProject: async () => temp.project },
    )
    expect(reply).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
  })
})
