import { afterEach, describe, expect, test } from 'vitest'
import type { HttpClient } from '../../src/primitives/http/http-client.ts'
import { openHttpClient } from '../../src/primitives/http/http-client.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { openHttpWire } from '../../src/upstream/http-wire.ts'
import { parameterHeaders } from '../../src/upstream/message-headers.ts'
import type { Remote } from '../../src/upstream/remote.ts'
import { openSseWire } from '../../src/upstream/sse-wire.ts'
import { openWebSocketWire } from '../../src/upstream/websocket-wire.ts'
import type { Wire } from '../../src/upstream/wire.ts'
import { field } from '../fixtures/field.ts'
import type { RemoteKind, RemoteServer } from '../fixtures/remote-servers.ts'
import { TOOLS, openRemoteServer } from '../fixtures/remote-servers.ts'
import type { Talk } from '../fixtures/talk.ts'
import { MODERN_META, shakeHands, talkOver } from '../fixtures/talk.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

const OPENERS: Readonly<Record<RemoteKind, (remote: Remote, client: HttpClient) => Wire | Promise<Wire>>> = {
  http: openHttpWire,
  http_v1: openHttpWire,
  sse: openSseWire,
  websocket: openWebSocketWire,
}

const start = async (kind: RemoteKind): Promise<{ server: RemoteServer; talk: Talk; client: HttpClient }> => {
  const server = await openRemoteServer(kind)
  const client = openHttpClient({ allowHosts: [server.host], clock: systemClock })
  open.push(server, client)
  const wire = await OPENERS[kind](
    { id: 'acme', url: server.url, headers: { 'x-key': 'k' }, startupMs: 5000 },
    client,
  )
  open.push(wire)
  return { server, client, talk: talkOver(wire) }
}

const POLL = { timeout: 10_000 }

const cancelOf = (id: number) => ({
  method: 'notifications/cancelled',
  params: { requestId: id, reason: 'test' },
})

describe.each(['http', 'http_v1', 'sse', 'websocket'] as const)('a server over %s', (kind) => {
  test('M2: is listed and called, and a call is cancelled', async () => {
    const { server, talk } = await start(kind)
    const answer = await shakeHands(talk)
    expect(field(answer, 'result', 'serverInfo', 'name')).toBe('remote')
    const list = await talk.ask('tools/list')
    expect(field(list, 'result', 'tools', 0, 'inputSchema')).toEqual(TOOLS[0].inputSchema)
    const call = await talk.ask('tools/call', { name: 'echo', arguments: { word: 'hé' } })
    expect(field(call, 'result', 'content', 0, 'text')).toBe('hé')
    const controller = new AbortController()
    const waiting = talk.ask('tools/call', { name: 'wait', arguments: {} }, { signal: controller.signal })
    waiting.catch(() => {})
    await talk.ask('ping')
    controller.abort()
    await talk.wire.send(cancelOf(4))
    await expect.poll(server.cancelled, POLL).toBe(1)
    expect(server.headers.every((headers) => headers['x-key'] === 'k')).toBe(true)
  })
})

describe('streamable HTTP with sessions', () => {
  test('M2: a session is named in every request after the first and ended at the close', async () => {
    const { server, talk } = await start('http')
    await shakeHands(talk)
    await talk.ask('tools/list')
    const [id] = server.sessions.opened
    const [first, ...later] = server.headers
    expect(first?.['mcp-session-id']).toBe(undefined)
    expect(later.map((headers) => headers['mcp-session-id'])).toEqual(later.map(() => id))
    expect(later.every((headers) => headers['mcp-protocol-version'] === '2025-11-25')).toBe(true)
    expect(await talk.wire.close()).toEqual({ reason: 'it was closed', isTooLarge: false })
    expect(server.sessions.ended).toEqual([id])
  })

  test('M2: a session that the server forgot ends the wire, and the call was not made', async () => {
    const { server, talk } = await start('http')
    await shakeHands(talk)
    server.forget()
    await expect(talk.ask('tools/call', { name: 'echo', arguments: {} })).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot use "acme": it no longer knows the session',
    })
    expect(await talk.wire.ended).toEqual({ reason: 'it no longer knows the session', isTooLarge: false })
  })
})

describe('streamable HTTP without sessions', () => {
  const modern = (talk: Talk, name: string, given: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    talk.ask(
      'tools/call',
      { name, arguments: given, _meta: MODERN_META },
      {
        headers: parameterHeaders('echo', TOOLS[0].inputSchema, given),
        ...(signal === undefined ? {} : { signal }),
      },
    )

  test('M2: a call says in its headers what is in it, arguments too, and letting go cancels it', async () => {
    const { server, talk } = await start('http')
    talk.wire.agree('2026-07-28')
    const list = await talk.ask('tools/list', { _meta: MODERN_META })
    expect(field(list, 'result', 'tools', 1, 'name')).toBe('wait')
    const call = await modern(talk, 'echo', { word: 'grün' })
    expect(field(call, 'result', 'content', 0, 'text')).toBe('grün')
    const sent = server.headers[1]
    expect(sent).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
      'mcp-param-word': '=?base64?Z3LDvG4=?=',
    })
    expect(sent?.['mcp-session-id']).toBe(undefined)
    const controller = new AbortController()
    const waiting = modern(talk, 'wait', {}, controller.signal)
    await expect.poll(() => server.headers.length, POLL).toBe(3)
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    await talk.wire.send(cancelOf(3))
    await expect.poll(server.cancelled, POLL).toBe(1)
    expect(server.headers.length).toBe(3)
  })

  test('M2: a refusal that answers the request comes as its answer', async () => {
    const { talk } = await start('http')
    const params = { name: 'echo', arguments: {}, _meta: MODERN_META }
    const wrong = await talk.ask('tools/call', params, { headers: { 'mcp-name': 'another' } })
    expect(field(wrong, 'error', 'code')).toBe(-32_020)
  })
})
