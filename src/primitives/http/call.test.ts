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

const serve = async (answer: (request: Received) => unknown): Promise<LoopbackServer> => {
  const server = await openLoopbackServer(answer)
  open.push(server)
  return server
}

const connect = (
  servers: readonly LoopbackServer[],
  options: Partial<HttpClientOptions> = {},
): HttpClient => {
  const allowHosts = servers.map(({ host }) => host)
  const client = openHttpClient({ allowHosts, clock: systemClock, random: () => 1, ...options })
  open.push(client)
  return client
}

/** Answers with the steps in turn; the last one stays. */
const inTurn = (...steps: readonly ((request: Received) => unknown)[]): ((request: Received) => unknown) => {
  let turn = 0
  return (request) => steps[Math.min(turn++, steps.length - 1)]?.(request)
}

const answer =
  (status: number, headers: Record<string, string> = {}) =>
  (request: Received): void =>
    reply(request, status, `"${status}"`, headers)
const hangUp = ({ socket }: Received): unknown => socket.destroy()
const reset = ({ socket }: Received): unknown => socket.resetAndDestroy()
const silence = (): void => {}

test('P8: 503, 503, 200 with two retries succeeds and reports three attempts', async () => {
  const server = await serve(inTurn(answer(503), answer(503), answer(200)))
  const result = await connect([server]).request(requestTo(server.url, { retries: 2 }))
  expect(result).toMatchObject({ success: true, attempts: 3, body: '200' })
})

test('P8: when the retries are used up the last answer stands', async () => {
  const server = await serve(answer(503))
  const result = await connect([server]).request(requestTo(server.url, { retries: 1 }))
  expect(result).toMatchObject({
    success: false,
    status_code: 503,
    failure: 'status',
    attempts: 2,
    body: '503',
  })
})

test('P8: a Retry-After of one second is waited for', async () => {
  const server = await serve(inTurn(answer(429, { 'retry-after': '1' }), answer(200)))
  const result = await connect([server]).request(requestTo(server.url, { retries: 1, retryDelayMs: 0 }))
  expect(result).toMatchObject({ success: true, attempts: 2 })
  expect(result.duration_ms).toBeGreaterThanOrEqual(990)
})

test('N8: a Retry-After beyond the deadline is not waited for', async () => {
  const server = await serve(answer(503, { 'retry-after': '60' }))
  const result = await connect([server]).request(requestTo(server.url, { retries: 5, timeoutMs: 3000 }))
  expect(result).toMatchObject({ status_code: 503, attempts: 1, failure: 'status' })
  expect(result.duration_ms).toBeLessThan(3000)
})

test('P8: a broken connection and an attempt without an answer are tried again', async () => {
  const server = await serve(inTurn(hangUp, silence, answer(200)))
  const result = await connect([server]).request(requestTo(server.url, { retries: 2, attemptTimeoutMs: 400 }))
  expect(result).toMatchObject({ success: true, attempts: 3 })
})

test('P8: a cancel during the wait ends the call', async () => {
  const server = await serve(answer(503, { 'retry-after': '3' }))
  const controller = new AbortController()
  const running = connect([server]).request(requestTo(server.url, { retries: 1 }), controller.signal)
  await expect.poll(() => server.received.length).toBe(1)
  setTimeout(() => controller.abort(), 20)
  expect(await running).toMatchObject({ failure: 'cancelled', attempts: 1 })
})

test.each([
  ['a reset', reset],
  ['a hang-up', hangUp],
  ['a silence', silence],
] as const)('SSRF-11: a POST that met %s after it was sent is not repeated', async (_what, step) => {
  const server = await serve(step)
  const result = await connect([server]).request(
    requestTo(server.url, { method: 'POST', body: 'x', retries: 3, timeoutMs: 5000, attemptTimeoutMs: 300 }),
  )
  expect(result).toMatchObject({ failure: 'outcome_unknown', attempts: 1, success: false })
  expect(server.received).toHaveLength(1)
})

test('N16: the deadline of a POST that was sent leaves its outcome unknown; that of a GET is a timeout', async () => {
  const server = await serve(silence)
  const client = connect([server])
  const ask = (method: string) => client.request(requestTo(server.url, { method, timeoutMs: 300 }))
  expect(await ask('POST')).toMatchObject({ failure: 'outcome_unknown' })
  expect(await ask('GET')).toMatchObject({
    failure: 'timeout',
    error: `Cannot ask "${server.host}": no whole answer within 300 ms`,
  })
})

test('SSRF-11: a POST is repeated when it was never sent, when the server says when, or when it may be', async () => {
  const closed = await serve(silence)
  await closed.close()
  const post = { method: 'POST', body: 'x', retries: 1 } as const
  expect(await connect([closed]).request(requestTo(closed.url, post))).toMatchObject({
    failure: 'connection',
    attempts: 2,
  })
  const busy = await serve(inTurn(answer(503, { 'retry-after': '0' }), answer(200)))
  expect(await connect([busy]).request(requestTo(busy.url, post))).toMatchObject({
    success: true,
    attempts: 2,
  })
  const vague = await serve(inTurn(answer(503), answer(200)))
  expect(await connect([vague]).request(requestTo(vague.url, post))).toMatchObject({
    status_code: 503,
    attempts: 1,
  })
  const keyed = await serve(inTurn(hangUp, answer(200)))
  const withKey = { ...post, headers: { 'idempotency-key': '7' } }
  expect(await connect([keyed]).request(requestTo(keyed.url, withKey))).toMatchObject({
    success: true,
    attempts: 2,
  })
  const declared = await serve(inTurn(hangUp, answer(200)))
  const result = await connect([declared]).request(requestTo(declared.url, { ...post, isIdempotent: true }))
  expect(result).toMatchObject({ success: true, attempts: 2 })
  expect(declared.received.map(({ body }) => body)).toEqual(['x', 'x'])
})

test('P6: redirects are followed, and credentials stay with the first origin', async () => {
  const other = await serve(answer(200))
  const server = await serve((request) =>
    request.path === '/start'
      ? reply(request, 302, '', { location: '/next' })
      : reply(request, 307, '', { location: `${other.url}/end` }),
  )
  const headers = { authorization: 'Bearer s3cret', 'x-api-key': 's3cret', cookie: 's3cret', accept: 'a/b' }
  const result = await connect([server, other]).request(requestTo(`${server.url}/start`, { headers }))
  expect(result).toMatchObject({ success: true, attempts: 1 })
  expect(server.received.map((one) => [one.path, one.headers['authorization']])).toEqual([
    ['/start', 'Bearer s3cret'],
    ['/next', 'Bearer s3cret'],
  ])
  expect(other.received[0]?.headers['accept']).toBe('a/b')
  expect(JSON.stringify(other.received[0]?.headers)).not.toContain('s3cret')
})

test('SSRF-01: every hop of a redirect is judged', async () => {
  const inner = await serve(answer(200))
  const server = await serve(answer(302, { location: `http://localhost:${inner.port}/` }))
  expect(await connect([server]).request(requestTo(server.url))).toMatchObject({
    success: false,
    failure: 'egress_denied',
  })
  const file = await serve(answer(302, { location: 'file:///etc/passwd' }))
  expect(await connect([file]).request(requestTo(file.url))).toMatchObject({ failure: 'egress_denied' })
  expect(inner.received).toEqual([])
})

test('UP-14: a loop of redirects ends at the limit, and is no success', async () => {
  const server = await serve(answer(302, { location: '/again' }))
  const client = connect([server])
  const result = await client.request(requestTo(server.url, { maxRedirects: 3 }))
  expect(result).toMatchObject({ success: false, failure: 'redirect', status_code: 302, body: '302' })
  expect(server.received).toHaveLength(4)
  expect(await client.request(requestTo(server.url, { maxRedirects: 0 }))).toMatchObject({
    failure: 'redirect',
    headers: { location: '/again' },
  })
})

test('N9: a redirect without a target, and 304, are no success', async () => {
  const nowhere = await serve(answer(301))
  expect(await connect([nowhere]).request(requestTo(nowhere.url))).toMatchObject({
    success: false,
    status_code: 301,
    failure: 'redirect',
  })
  const same = await serve(({ socket }) => socket.write('HTTP/1.1 304 Not Modified\r\n\r\n'))
  expect(await connect([same]).request(requestTo(same.url))).toMatchObject({
    success: false,
    status_code: 304,
    failure: 'status',
  })
})

test('N16: a POST that was redirected is not begun again, however the second hop fails', async () => {
  const closed = await serve(silence)
  await closed.close()
  const server = await serve((request) =>
    request.path === '/' ? reply(request, 303, '', { location: `${closed.url}/` }) : hangUp(request),
  )
  const result = await connect([server, closed]).request(
    requestTo(server.url, { method: 'POST', body: 'x', retries: 3 }),
  )
  expect(result).toMatchObject({ failure: 'outcome_unknown', attempts: 1 })
  expect(server.received).toHaveLength(1)
})
