import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { HttpClient } from '../../src/primitives/http/http-client.ts'
import { openHttpClient } from '../../src/primitives/http/http-client.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { openHttpWire } from '../../src/upstream/http-wire.ts'
import type { Remote } from '../../src/upstream/remote.ts'
import { openSseWire } from '../../src/upstream/sse-wire.ts'
import { openWebSocketWire } from '../../src/upstream/websocket-wire.ts'
import { field } from '../fixtures/field.ts'
import type { LoopbackServer, Received } from '../fixtures/loopback-server.ts'
import { head, openLoopbackServer, reply } from '../fixtures/loopback-server.ts'
import type { Talk } from '../fixtures/talk.ts'
import { talkOver } from '../fixtures/talk.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

interface Bed {
  readonly server: LoopbackServer
  readonly client: HttpClient
  readonly remote: Remote
}

/** One connection at a time: whatever does not let go of it stops the next call. */
const bed = async (answer: (request: Received) => unknown): Promise<Bed> => {
  const server = await openLoopbackServer(answer)
  const client = openHttpClient({ allowHosts: [server.host], clock: systemClock, connections: 1 })
  open.push(server, client)
  return { server, client, remote: { id: 'acme', url: `${server.url}/mcp`, headers: {}, startupMs: 500 } }
}

const talkTo = async (answer: (request: Received) => unknown): Promise<Talk & { server: LoopbackServer }> => {
  const { server, client, remote } = await bed(answer)
  const wire = openHttpWire(remote, client)
  open.push(wire)
  return { ...talkOver(wire), server }
}

const POLL = { timeout: 10_000 }
const numberIn = ({ body }: Received): number => Number(field(JSON.parse(body), 'id'))
const result = (id: number): string => JSON.stringify({ jsonrpc: '2.0', id, result: { fine: true } })
const EVENTS = head(200, { 'content-type': 'text/event-stream' })
const JSON_TYPE = { 'content-type': 'application/json' }

/** The first request goes wrong, all others are answered. */
const onceWrong = (wrong: (request: Received) => unknown) => {
  let isFirst = true
  return (request: Received): unknown => {
    if (!isFirst) return reply(request, 200, result(numberIn(request)), JSON_TYPE)
    isFirst = false
    return wrong(request)
  }
}

describe('UP-14: a server over HTTP that fails', () => {
  test.each<[string, (request: Received) => unknown]>([
    ['takes the request and never answers', () => undefined],
    ['sends half a head and no more', ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-ty')],
    ['begins a stream and falls silent', ({ socket }) => socket.write(EVENTS)],
    [
      'sends half an answer and no more',
      ({ socket }) =>
        socket.write(
          Buffer.concat([head(200, { ...JSON_TYPE, 'content-length': '99' }), Buffer.from('{"a')]),
        ),
    ],
  ])('UP-14: one that %s is let go of, and its place is free', async (_, wrong) => {
    const { ask, server } = await talkTo(onceWrong(wrong))
    const controller = new AbortController()
    const asked = ask('tools/call', {}, { signal: controller.signal })
    asked.catch(() => {})
    await expect.poll(() => server.received.length, POLL).toBe(1)
    await delay(50)
    controller.abort()
    await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await ask('tools/list')).toMatchObject({ result: { fine: true } })
  })

  test.each<[string, string, (request: Received) => unknown]>([
    ['resets before it answers', 'OUTCOME_UNKNOWN', ({ socket }) => socket.resetAndDestroy()],
    [
      'resets in the middle of its events',
      'OUTCOME_UNKNOWN',
      async ({ socket }) => {
        socket.write(Buffer.concat([EVENTS, Buffer.from('data: {"jsonrpc":"2.0","method":"x"}\n\n')]))
        await delay(50)
        socket.resetAndDestroy()
      },
    ],
    [
      'ends its events without the answer',
      'OUTCOME_UNKNOWN',
      ({ socket }) => socket.end(Buffer.concat([EVENTS, Buffer.from(': nothing\n\n')])),
    ],
    ['answers something else', 'OUTCOME_UNKNOWN', (request) => reply(request, 200, result(99), JSON_TYPE)],
    [
      'answers no JSON',
      'OUTCOME_UNKNOWN',
      (request) => reply(request, 200, '<html>', { 'content-type': 'text/html' }),
    ],
    ['answers nothing', 'OUTCOME_UNKNOWN', (request) => reply(request, 202)],
    [
      'answers with too much',
      'MESSAGE_TOO_LARGE',
      (request) => reply(request, 200, Buffer.alloc(10_000_001, 32), JSON_TYPE),
    ],
    [
      'sends an event without end',
      'MESSAGE_TOO_LARGE',
      ({ socket }) =>
        socket.write(Buffer.concat([EVENTS, Buffer.from('data: '), Buffer.alloc(10_000_001, 120)])),
    ],
    ['leads in a circle', 'HTTP_STATUS', (request) => reply(request, 307, '', { location: '/mcp' })],
    [
      'leads elsewhere',
      'HTTP_STATUS',
      (request) => reply(request, 307, '', { location: 'http://example.com/' }),
    ],
    ['says 400', 'HTTP_STATUS', (request) => reply(request, 400, 'no')],
    ['says 404', 'HTTP_STATUS', (request) => reply(request, 404, 'no')],
    ['says 500', 'HTTP_STATUS', (request) => reply(request, 500, 'no')],
    ['says 401', 'HTTP_STATUS', (request) => reply(request, 401, 'no')],
  ])('UP-14: one that %s fails as %s, and the next call is answered', async (what, code, wrong) => {
    let count = 0
    const isLoop = what.startsWith('leads in')
    const { ask } = await talkTo((request) => {
      count += 1
      if (count > (isLoop ? 6 : 1)) return reply(request, 200, result(numberIn(request)), JSON_TYPE)
      return wrong(request)
    })
    await expect(ask('tools/call')).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/^Cannot use "acme": /),
    })
    expect(await ask('tools/list')).toMatchObject({ result: { fine: true } })
  })

  test('UP-14: what passes is worth another try, what does not is not', async () => {
    let status = 503
    const { ask } = await talkTo((request) => reply(request, status, ''))
    await expect(ask('tools/call')).rejects.toMatchObject({ code: 'HTTP_STATUS', retryable: true })
    status = 410
    await expect(ask('tools/call')).rejects.toMatchObject({ code: 'HTTP_STATUS', retryable: false })
  })

  test('M2: a stream that broke after an event is taken up where it was', async () => {
    const { ask, server } = await talkTo((request) => {
      if (request.method === 'POST') {
        request.socket.end(Buffer.concat([EVENTS, Buffer.from('id: 7\nretry: 10\ndata:\n\n')]))
        return
      }
      request.socket.end(Buffer.concat([EVENTS, Buffer.from(`id: 8\ndata: ${result(1)}\n\n`)]))
    })
    expect(await ask('tools/call')).toMatchObject({ result: { fine: true } })
    expect(server.received.map(({ method, headers }) => [method, headers['last-event-id']])).toEqual([
      ['POST', undefined],
      ['GET', '7'],
    ])
  })

  test('M2: what the server says by itself arrives over its own stream', async () => {
    const { wire, tell, others } = await talkTo((request) => {
      if (request.method === 'POST') return reply(request, 202)
      request.socket.write(
        Buffer.concat([
          EVENTS,
          Buffer.from('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'),
        ]),
      )
    })
    wire.agree('2025-11-25')
    await tell('notifications/initialized')
    await expect.poll(() => others.length, POLL).toBe(1)
  })

  test('what follows the greeting does not overtake it', async () => {
    const order: unknown[] = []
    const { ask, tell } = await talkTo(async (request) => {
      const method = field(JSON.parse(request.body || '{}'), 'method')
      if (method === 'notifications/initialized') await delay(100)
      order.push(method)
      if (method === 'tools/list') return reply(request, 200, result(1), JSON_TYPE)
      reply(request, request.method === 'GET' ? 405 : 202)
    })
    await Promise.all([tell('notifications/initialized'), ask('tools/list')])
    expect(order.slice(0, 2)).toEqual(['notifications/initialized', 'tools/list'])
  })
})

describe('UP-14: a stream of events that fails', () => {
  test('UP-14: one that never says where messages are sent to is given up', async () => {
    const { client, remote, server } = await bed(({ socket }) => socket.write(EVENTS))
    await expect(openSseWire(remote, client)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot use "acme": it does not answer within 0.5 s',
    })
    await server.emptied()
  })

  test('HTTP-06: one that wants its messages sent to another origin is refused', async () => {
    const { client, remote } = await bed(({ socket }) =>
      socket.write(Buffer.concat([EVENTS, Buffer.from('event: endpoint\ndata: http://127.0.0.1:1/x\n\n')])),
    )
    await expect(openSseWire(remote, client)).rejects.toMatchObject({
      message: 'Cannot use "acme": it wants its messages sent to another origin',
    })
  })

  test('UP-14: one that breaks ends the wire', async () => {
    const { client, remote } = await bed(async ({ socket }) => {
      socket.write(Buffer.concat([EVENTS, Buffer.from('event: endpoint\ndata: /x\n\n')]))
      await delay(100)
      socket.resetAndDestroy()
    })
    const wire = await openSseWire(remote, client)
    expect(await wire.ended).toEqual({ reason: 'the connection broke', isTooLarge: false })
    await expect(wire.send({ id: 1, method: 'ping' })).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  })
})

describe('UP-14: a websocket that fails', () => {
  test.each<[string, string, (request: Received) => unknown]>([
    ['never answers', 'TIMEOUT', () => undefined],
    ['knows nobody', 'HTTP_STATUS', (request) => reply(request, 401)],
    ['is none', 'HTTP_STATUS', (request) => reply(request, 404)],
    ['resets', 'UPSTREAM_UNAVAILABLE', ({ socket }) => socket.resetAndDestroy()],
  ])('UP-14: one that %s fails as %s', async (_, code, wrong) => {
    const { client, remote } = await bed(wrong)
    await expect(openWebSocketWire(remote, client)).rejects.toMatchObject({ code })
  })
})

describe.each([
  ['events', openSseWire],
  ['a websocket', openWebSocketWire],
])('UP-14: what is no server of %s', (_, openWire) => {
  test.each([
    [404, false, 'Check the address and the transport of the server'],
    [401, false, 'Check the key in the headers of the server, and what it is good for'],
    [503, true, 'Wait a moment and send the call again'],
  ])('UP-14: says %i, and whoever calls is told what to look at', async (status, retryable, hint) => {
    const { client, remote } = await bed((request) => reply(request, status))
    await expect(openWire(remote, client)).rejects.toMatchObject({ code: 'HTTP_STATUS', retryable, hint })
  })
})
