import { afterEach, expect, test, vi } from 'vitest'
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

const connect = (allowHosts: readonly string[], options: Partial<HttpClientOptions> = {}): HttpClient => {
  const client = openHttpClient({ allowHosts, clock: systemClock, ...options })
  open.push(client)
  return client
}

test('P6: method, path, query, headers and body arrive as given', async () => {
  const server = await serve((request) =>
    reply(request, 200, '{"ok":true}', { 'content-type': 'application/json' }),
  )
  const client = connect([server.host])
  const result = await client.request(
    requestTo(`${server.url}/a%20b?q=%C3%BC`, {
      method: 'POST',
      headers: { 'X-Tag': 'ü' },
      body: '{"name":"ü"}',
    }),
  )
  expect(result).toEqual({
    success: true,
    status_code: 200,
    body: { ok: true },
    body_kind: 'json',
    headers: { 'content-length': '11', 'content-type': 'application/json' },
    duration_ms: expect.any(Number),
    error: null,
    attempts: 1,
    failure: null,
  })
  const [received] = server.received
  expect(received).toMatchObject({ method: 'POST', path: '/a%20b?q=%C3%BC', body: '{"name":"ü"}' })
  expect(received?.headers).toMatchObject({
    host: server.host,
    accept: '*/*',
    'user-agent': 'kiwi-mcp',
    'accept-encoding': 'gzip, deflate, br',
    'x-tag': 'ü',
    'content-length': '13',
  })
})

test('P6: a body of bytes arrives byte for byte', async () => {
  const server = await serve((request) => reply(request, 200, request.body))
  const { body } = await connect([server.host]).request(
    requestTo(server.url, { method: 'PUT', body: new TextEncoder().encode('bytes').subarray(1, 4) }),
  )
  expect(body).toBe('yte')
})

test('P10: 404 with a JSON body is no success, and the body is kept', async () => {
  const server = await serve((request) => reply(request, 404, '{"message":"no"}'))
  expect(await connect([server.host]).request(requestTo(server.url))).toMatchObject({
    success: false,
    status_code: 404,
    body: { message: 'no' },
    error: '404 Not Found',
    failure: 'status',
  })
})

test('P10: without a connection the status is 0 and the reason is told', async () => {
  const server = await serve(() => {})
  await server.close()
  expect(await connect([server.host]).request(requestTo(server.url))).toMatchObject({
    success: false,
    status_code: 0,
    body: null,
    body_kind: 'none',
    failure: 'connection',
    error: `Cannot reach "${server.host}": the connection was refused`,
  })
})

test('P10: a name that is not known, and a server that speaks no TLS, are told apart', async () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  const client = connect([], { lookup: () => Promise.reject(unknown) })
  expect(await client.request(requestTo('http://no.such.host.test/'))).toMatchObject({
    failure: 'dns',
    error: 'Cannot reach "no.such.host.test": the name is not known',
  })
  const plain = await serve(() => {})
  const answering = connect([plain.host]).request(requestTo(`https://${plain.host}/`))
  await expect.poll(() => plain.sockets.size).toBe(1)
  for (const socket of plain.sockets) socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
  expect(await answering).toMatchObject({
    failure: 'tls',
    status_code: 0,
    error: `Cannot reach "${plain.host}": it does not speak TLS there: write http:// if that is meant`,
  })
  const nothing = connect([], { lookup: () => Promise.resolve([]) })
  expect(await nothing.request(requestTo('http://empty.test/'))).toMatchObject({ failure: 'dns' })
})

test('SSRF-01: private targets are refused and nothing is dialled', async () => {
  const server = await serve((request) => reply(request, 200))
  const client = connect(['10.0.0.1'])
  for (const host of ['127.0.0.1', 'localhost', '127.1', '[::ffff:127.0.0.1]', '0x7f000001']) {
    expect(await client.request(requestTo(`http://${host}:${server.port}/`))).toMatchObject({
      success: false,
      status_code: 0,
      failure: 'egress_denied',
      error: expect.stringMatching(/^Cannot reach ".+": a loopback address/),
    })
  }
  expect(server.received).toEqual([])
  expect(server.sockets.size).toBe(0)
})

test('SSRF-03: a name is resolved once for a connection, and the address that was judged is dialled', async () => {
  const server = await serve((request) => reply(request, 200, request.headers['host']))
  const asked: string[] = []
  const client = connect([`pinned.test:${server.port}`], {
    lookup: (name) => {
      asked.push(name)
      return Promise.resolve([{ address: asked.length === 1 ? '127.0.0.1' : '203.0.113.1', family: 4 }])
    },
  })
  const url = `http://pinned.test:${server.port}/`
  expect(await client.request(requestTo(url))).toMatchObject({
    success: true,
    body: `pinned.test:${server.port}`,
  })
  expect(await client.request(requestTo(url))).toMatchObject({ success: true })
  expect(asked).toEqual(['pinned.test'])
})

test('SSRF-03: a name that leads inside is refused at its connection, and nothing is dialled', async () => {
  const server = await serve((request) => reply(request, 200))
  const inside = [
    { address: '140.82.112.6', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  const client = connect([], { lookup: () => Promise.resolve(inside) })
  expect(await client.request(requestTo(`http://rebind.test:${server.port}/`))).toMatchObject({
    failure: 'egress_denied',
    error: 'Cannot reach "rebind.test": a loopback address that allow_hosts does not list',
  })
  expect(server.sockets.size).toBe(0)
})

test('SSRF-05: credentials in a URL are refused', async () => {
  const server = await serve((request) => reply(request, 200))
  const result = await connect([server.host]).request(requestTo(`http://good.com@${server.host}/`))
  expect(result).toMatchObject({ failure: 'egress_denied', status_code: 0 })
  expect(server.received).toEqual([])
})

test('SSRF-07: a header that would break the message is refused before any network use', async () => {
  const server = await serve((request) => reply(request, 200))
  const client = connect([server.host])
  const result = await client.request(requestTo(server.url, { headers: { 'x-a': 'b\r\nx-evil: 1' } }))
  expect(result).toMatchObject({ failure: 'bad_request', attempts: 0, status_code: 0 })
  expect(server.sockets.size).toBe(0)
})

test('a call that was cancelled, before or while it runs, ends at once and drops its connection', async () => {
  const server = await serve(() => {})
  const client = connect([server.host])
  const before = await client.request(requestTo(server.url), AbortSignal.abort())
  expect(before).toMatchObject({ failure: 'cancelled', status_code: 0 })
  const controller = new AbortController()
  const running = client.request(requestTo(server.url, { method: 'POST' }), controller.signal)
  await expect.poll(() => server.received.length).toBe(1)
  controller.abort()
  expect(await running).toMatchObject({ failure: 'cancelled' })
  await server.emptied()
})

test('many calls may share one signal', async () => {
  const server = await serve((request) => reply(request, 200))
  const client = connect([server.host])
  const warnings: Error[] = []
  const warn = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', warn)
  const { signal } = new AbortController()
  await Promise.all(Array.from({ length: 50 }, () => client.request(requestTo(server.url), signal)))
  process.off('warning', warn)
  expect(warnings).toEqual([])
})

test('close ends every call and every connection, and what comes later is refused', async () => {
  const server = await serve((request) => (request.path === '/idle' ? reply(request, 200) : null))
  const client = connect([server.host], { keepAliveMs: 60_000 })
  const running = [1, 2, 3].map(() => client.request(requestTo(server.url)))
  await expect.poll(() => server.received.length).toBe(3)
  await client.request(requestTo(`${server.url}/idle`))
  expect(server.sockets.size).toBe(4)
  await client.close()
  for (const result of await Promise.all(running)) {
    expect(result).toMatchObject({
      failure: 'cancelled',
      error: `Cannot ask "${server.host}": the HTTP client was closed`,
    })
  }
  await server.emptied()
  expect(await client.request(requestTo(server.url))).toMatchObject({ failure: 'cancelled' })
})

test('SSRF-01: proxies of the environment are not used', async () => {
  const proxy = await serve((request) => reply(request, 200, 'proxy'))
  const server = await serve((request) => reply(request, 200, 'direct'))
  for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) vi.stubEnv(name, proxy.url)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  expect(await connect([server.host]).request(requestTo(server.url))).toMatchObject({ body: 'direct' })
  vi.unstubAllEnvs()
})
