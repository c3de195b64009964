import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import type { EventOptions } from './events.ts'
import type { HttpClient } from './http-client.ts'
import { openHttpClient } from './http-client.ts'
import type { LoopbackServer, Received } from '../../../test/fixtures/loopback-server.ts'
import { head, openLoopbackServer, reply, requestTo } from '../../../test/fixtures/loopback-server.ts'
import type { ServerSentEvent } from './sse-parser.ts'

const open: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

const start = async (
  answer: (request: Received) => unknown,
): Promise<{ server: LoopbackServer; client: HttpClient }> => {
  const server = await openLoopbackServer(answer)
  const client = openHttpClient({ allowHosts: [server.host], clock: systemClock })
  open.push(server, client)
  return { server, client }
}

const ONCE: EventOptions = { reconnect: false, reconnectDelayMs: 5, idleTimeoutMs: 2000 }
const AGAIN: EventOptions = { ...ONCE, reconnect: true }

const begin = ({ socket }: Received): void => {
  socket.write(head(200, { 'content-type': 'text/event-stream; charset=utf-8' }))
}

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `id: ${from + i}\ndata: event ${from + i}\n\n`).join('')

const collect = async (events: AsyncIterable<ServerSentEvent>): Promise<string[]> => {
  const data: string[] = []
  for await (const event of events) data.push(event.data)
  return data
}

test('P12: 1,000 events arrive in order', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    const bytes = Buffer.from(numbered(0, 1000))
    for (let at = 0; at < bytes.length; at += 777) request.socket.write(bytes.subarray(at, at + 777))
    request.socket.end()
  })
  const data = await collect(client.events(requestTo(server.url), ONCE))
  expect(data).toEqual(Array.from({ length: 1000 }, (_, i) => `event ${i}`))
  expect(server.received[0]?.headers).toMatchObject({ accept: 'text/event-stream' })
  expect(server.received[0]?.headers).not.toHaveProperty('last-event-id')
})

test('P12: a stream that drops, even inside an event, resumes without loss or repeat', async () => {
  const TOTAL = 1000
  const { server, client } = await start((request) => {
    const from = Number(request.headers['last-event-id'] ?? -1) + 1
    if (from >= TOTAL) return void request.socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    begin(request)
    const to = Math.min(TOTAL, from + 130)
    request.socket.write(`${numbered(from, to)}id: ${to}\ndata: never fin`, () =>
      request.socket.resetAndDestroy(),
    )
  })
  const data = await collect(client.events(requestTo(server.url), AGAIN))
  expect(data).toEqual(Array.from({ length: TOTAL }, (_, i) => `event ${i}`))
  expect(server.received.length).toBeGreaterThan(TOTAL / 130)
})

test('P12: all events together may be larger than a body; ids go back as the bytes they came as', async () => {
  const { server, client } = await start((request) => {
    const isFirst = server.received.length === 1
    if (!isFirst) return void request.socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    begin(request)
    request.socket.end(`data: ${'x'.repeat(3000)}\n\n`.repeat(10) + 'id: ünïc☃de\ndata: y\n\n')
  })
  const data = await collect(client.events(requestTo(server.url, { maxResponseBytes: 5000 }), AGAIN))
  expect(data).toHaveLength(11)
  const id = server.received[1]?.headers['last-event-id'] ?? ''
  expect(Buffer.from(id, 'latin1').toString('utf8')).toBe('ünïc☃de')
})

test('SSRF-10: a refusal without end is cut like any body', async () => {
  const { server, client } = await start((request) => {
    request.socket.write(head(500, {}))
    const more = setInterval(() => request.socket.write('x'.repeat(4000)), 1)
    request.socket.on('close', () => clearInterval(more))
  })
  const read = collect(client.events(requestTo(server.url, { maxResponseBytes: 5000 }), AGAIN))
  await expect(read).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
})

test('UP-14: a reset in the middle ends a stream that shall not reconnect, after the events before it', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    request.socket.write(numbered(0, 3))
    setTimeout(() => request.socket.resetAndDestroy(), 30)
  })
  const seen: string[] = []
  const read = async (): Promise<void> => {
    for await (const event of client.events(requestTo(server.url), ONCE)) seen.push(event.id)
  }
  await expect(read()).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  expect(seen).toEqual(['0', '1', '2'])
})

test('P12: the server says how long to wait, within bounds', async () => {
  const times: number[] = []
  const { server, client } = await start((request) => {
    times.push(performance.now())
    if (times.length === 3) return void request.socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    begin(request)
    request.socket.end(`retry: ${times.length === 1 ? 300 : 0}\ndata: x\n\n`)
  })
  expect(await collect(client.events(requestTo(server.url), AGAIN))).toEqual(['x', 'x'])
  const [first = 0, second = 0, third = 0] = times
  expect(second - first).toBeGreaterThanOrEqual(295)
  expect(third - second).toBeGreaterThanOrEqual(95)
})

test('P12: a quiet stream is kept alive by comments, and left when even those stop', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    let beats = 0
    const beat = setInterval(() => {
      request.socket.write(beats++ === 4 ? 'data: late\n\n' : ': beat\n')
      if (beats > 5) clearInterval(beat)
    }, 60)
    request.socket.on('close', () => clearInterval(beat))
  })
  const seen: string[] = []
  const read = async (): Promise<void> => {
    for await (const event of client.events(requestTo(server.url), { ...ONCE, idleTimeoutMs: 400 })) {
      seen.push(event.data)
    }
  }
  await expect(read()).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(seen).toEqual(['late'])
  await server.emptied()
})

test('P12: the caller ends it by a signal or by leaving, and the connection goes', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    request.socket.write(numbered(0, 2))
  })
  const controller = new AbortController()
  const seen: string[] = []
  for await (const event of client.events(requestTo(server.url), AGAIN, controller.signal)) {
    seen.push(event.data)
    if (seen.length === 2) controller.abort()
  }
  expect(seen).toHaveLength(2)
  await server.emptied()
  for await (const event of client.events(requestTo(server.url), AGAIN)) {
    seen.push(event.data)
    break
  }
  expect(seen).toHaveLength(3)
  await server.emptied()
})

test('P12: the caller and close end the wait before a reconnect', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    request.socket.end('data: x\n\n')
  })
  const slow = { ...AGAIN, reconnectDelayMs: 60_000 }
  const controller = new AbortController()
  const aborted = collect(client.events(requestTo(server.url), slow, controller.signal))
  const closed = collect(client.events(requestTo(server.url), slow))
  await expect.poll(() => server.received.length).toBe(2)
  await server.emptied()
  controller.abort()
  expect(await aborted).toEqual(['x'])
  await client.close()
  expect(await closed).toEqual(['x'])
})

test('P12: a refusal is thrown with its status and body, and is not tried again', async () => {
  const { server, client } = await start((request) => reply(request, 401, '{"error":"key"}'))
  await expect(collect(client.events(requestTo(server.url), AGAIN))).rejects.toMatchObject({
    code: 'HTTP_STATUS',
    details: { failure: 'status', status_code: 401, body: { error: 'key' } },
  })
  expect(server.received).toHaveLength(1)
  const page = await start((request) => reply(request, 200, '<html>', { 'content-type': 'text/html' }))
  await expect(collect(page.client.events(requestTo(page.server.url), AGAIN))).rejects.toMatchObject({
    code: 'UPSTREAM_UNAVAILABLE',
    details: { failure: 'protocol', status_code: 200 },
  })
})

test('UP-14: connections that bring nothing are given up after a while', async () => {
  const { server, client } = await start((request) => {
    if (server.received.length % 2 === 0) return reply(request, 503)
    begin(request)
    return request.socket.end()
  })
  await expect(
    collect(client.events(requestTo(server.url), { ...AGAIN, reconnectDelayMs: 1, maxReconnects: 4 })),
  ).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', message: expect.stringContaining('5 connections') })
  expect(server.received).toHaveLength(5)
})

test('N16: a POST is never sent again to go on with its stream', async () => {
  const { server, client } = await start((request) => {
    begin(request)
    request.socket.write('data: x\n\n')
    if (request.path === '/break') setTimeout(() => request.socket.resetAndDestroy(), 30)
    else request.socket.end()
  })
  const post = (path: string) => requestTo(`${server.url}${path}`, { method: 'POST', body: '{}' })
  expect(await collect(client.events(post('/end'), AGAIN))).toEqual(['x'])
  await expect(collect(client.events(post('/break'), AGAIN))).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
  })
  expect(server.received).toHaveLength(2)
})
