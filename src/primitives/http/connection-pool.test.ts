import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import type { HttpClient, HttpClientOptions } from './http-client.ts'
import { openHttpClient } from './http-client.ts'
import type { LoopbackServer, Received } from '../../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply, requestTo } from '../../../test/fixtures/loopback-server.ts'

const open: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

const start = async (
  answer: (request: Received) => unknown,
  options: Partial<HttpClientOptions> = {},
): Promise<{ server: LoopbackServer; client: HttpClient }> => {
  const server = await openLoopbackServer(answer)
  const client = openHttpClient({ allowHosts: ['127.0.0.1'], clock: systemClock, ...options })
  open.push(server, client)
  return { server, client }
}

const many = (count: number, ask: () => Promise<unknown>): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, ask))

test('P9: the second call uses the connection of the first', async () => {
  const { server, client } = await start((request) => reply(request, 200))
  await client.request(requestTo(server.url))
  await client.request(requestTo(`${server.url}/two`, { method: 'POST', body: 'x' }))
  expect(server.received.map(({ connection }) => connection)).toEqual([1, 1])
})

test('P9: no more connections than the limit; the rest waits its turn, all answered', async () => {
  let most = 0
  const { server, client } = await start(
    (request) => {
      most = Math.max(most, server.sockets.size)
      setImmediate(() => reply(request, 200, request.path))
    },
    { connections: 5 },
  )
  let next = 0
  const bodies = await many(200, async () => {
    const path = `/${next++}`
    const { body } = await client.request(requestTo(`${server.url}${path}`))
    return body === path
  })
  expect(bodies.every(Boolean)).toBe(true)
  expect(most).toBe(5)
})

test('P9: no more connections without work than the limit are kept', async () => {
  const { server, client } = await start((request) => setTimeout(() => reply(request, 200), 30), {
    connections: 10,
    idleConnections: 3,
  })
  await many(10, () => client.request(requestTo(server.url)))
  await expect.poll(() => server.sockets.size).toBe(3)
})

test('P9: a connection without work ends after its time', async () => {
  const { server, client } = await start((request) => reply(request, 200), { keepAliveMs: 50 })
  await client.request(requestTo(server.url))
  expect(server.sockets.size).toBe(1)
  await server.emptied()
  expect(await client.request(requestTo(server.url))).toMatchObject({ success: true })
})

test('P9: the origin used longest ago gives its connections up', async () => {
  const { server: first, client } = await start((request) => reply(request, 200), {
    origins: 2,
    keepAliveMs: 60_000,
  })
  const others = await many(2, async () => {
    const server = await openLoopbackServer((request) => reply(request, 200))
    open.push(server)
    return server.url
  })
  await client.request(requestTo(first.url))
  await client.request(requestTo(String(others[0])))
  await client.request(requestTo(first.url))
  await client.request(requestTo(String(others[1])))
  expect(first.sockets.size).toBe(1)
  await client.request(requestTo(String(others[0])))
  await first.emptied()
})

test('P9: an answer that closes its connection is followed by a new one', async () => {
  const { server, client } = await start((request) => reply(request, 200, '', { connection: 'close' }), {
    connections: 2,
  })
  const results = await many(20, () => client.request(requestTo(server.url)))
  for (const result of results) expect(result).toMatchObject({ success: true })
  expect(new Set(server.received.map(({ connection }) => connection)).size).toBe(20)
})

test('UP-14: calls that wait for a connection end at their own time, and free nothing they do not hold', async () => {
  const { server, client } = await start(
    (request) => (request.path === '/hang' ? null : reply(request, 200)),
    {
      connections: 2,
    },
  )
  const controller = new AbortController()
  const hanging = many(2, () => client.request(requestTo(`${server.url}/hang`), controller.signal))
  await expect.poll(() => server.received.length).toBe(2)
  const waiting = await many(5, () =>
    client.request(requestTo(server.url, { method: 'POST', timeoutMs: 60 })),
  )
  // They were never sent, so nothing about them is unknown.
  for (const result of waiting) expect(result).toMatchObject({ failure: 'timeout', status_code: 0 })
  const patient = many(3, () => client.request(requestTo(server.url)))
  controller.abort()
  for (const result of await hanging) expect(result).toMatchObject({ failure: 'cancelled' })
  for (const result of await patient) expect(result).toMatchObject({ success: true })
  expect(server.received).toHaveLength(5)
})

test('UP-14: after an aborted call nothing connects again for it', async () => {
  const { server, client } = await start(() => {})
  await client.request(requestTo(server.url, { timeoutMs: 50 }))
  await server.emptied()
  await delay(50)
  expect(server.sockets.size).toBe(0)
  expect(new Set(server.received.map(({ connection }) => connection)).size).toBe(1)
})

test('UP-14: a call that is given up while it connects gives its place back', async () => {
  const server = await openLoopbackServer((request) => reply(request, 200))
  let resolved = 0
  const client = openHttpClient({
    allowHosts: [`slow.test:${server.port}`],
    clock: systemClock,
    connections: 1,
    lookup: () =>
      resolved++ === 0 ? new Promise(() => {}) : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  })
  open.push(server, client)
  const ask = (timeoutMs: number) =>
    client.request(requestTo(`http://slow.test:${server.port}/`, { timeoutMs }))
  expect(await ask(50)).toMatchObject({ failure: 'timeout', status_code: 0 })
  expect(await ask(5000)).toMatchObject({ success: true })
})

test('P9: a connection attempt that gets nowhere ends after its own time', async () => {
  const client = openHttpClient({
    allowHosts: ['stuck.test'],
    clock: systemClock,
    connectTimeoutMs: 60,
    lookup: () => new Promise(() => {}),
  })
  open.push(client)
  expect(await client.request(requestTo('http://stuck.test/'))).toMatchObject({
    failure: 'connection',
    error: 'Cannot reach "stuck.test": no connection in time',
  })
})
