import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import type { HttpClient } from './http-client.ts'
import { openHttpClient } from './http-client.ts'
import type { LoopbackServer, Received } from '../../../test/fixtures/loopback-server.ts'
import {
  head,
  openLoopbackServer,
  reply,
  requestTo,
  settled,
} from '../../../test/fixtures/loopback-server.ts'

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

/** Writes the same chunk for as long as anybody takes it. */
const pour = ({ socket }: Received, chunk: Buffer): void => {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

const TEXT = 'Kiwi '.repeat(5000)

test.each([
  ['gzip', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['GZIP', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
] as const)('P10: a body in %s is decompressed', async (encoding, body) => {
  const { server, client } = await start((request) =>
    reply(request, 200, body, { 'content-encoding': encoding }),
  )
  expect(await client.request(requestTo(server.url))).toMatchObject({
    success: true,
    body: TEXT,
    body_kind: 'text',
  })
})

test('P10: an encoding that nobody asked for stays as it came; an empty body needs none', async () => {
  const { server, client } = await start((request) =>
    reply(request, 200, request.path === '/' ? Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) : '', {
      'content-encoding': request.path === '/' ? 'zstd' : 'gzip',
    }),
  )
  expect(await client.request(requestTo(server.url))).toMatchObject({ body: 'KLUv/Q==', body_kind: 'base64' })
  expect(await client.request(requestTo(`${server.url}/empty`))).toMatchObject({
    success: true,
    body_kind: 'none',
  })
})

test('P10: a body that is cut, or is not what it says, is no success', async () => {
  const whole = gzipSync(TEXT)
  const { server, client } = await start((request) => {
    if (request.path === '/cut')
      return reply(request, 200, whole.subarray(0, 30), { 'content-encoding': 'gzip' })
    if (request.path === '/lie') return reply(request, 200, 'not gzip', { 'content-encoding': 'gzip' })
    if (request.path === '/noise') return request.socket.end('NOISE ON THE LINE\r\n\r\n')
    return request.socket.end(Buffer.concat([head(200, { 'content-length': '100' }), Buffer.from('short')]))
  })
  for (const path of ['cut', 'lie', 'noise']) {
    expect(await client.request(requestTo(`${server.url}/${path}`))).toMatchObject({
      success: false,
      failure: 'protocol',
      body: null,
    })
  }
  expect(await client.request(requestTo(`${server.url}/short`))).toMatchObject({
    success: false,
    status_code: 200,
  })
})

test('P10: early hints are passed over, and an answer that ends with its connection is whole', async () => {
  const { server, client } = await start(({ socket }) => {
    socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n')
    socket.end('HTTP/1.0 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\nto the end')
  })
  const stream = await client.stream(requestTo(server.url), { idleTimeoutMs: 1000 })
  expect(stream.result).toMatchObject({ status_code: 200, headers: { 'set-cookie': 'a=1, b=2' } })
  stream.close()
  expect(await client.request(requestTo(server.url))).toMatchObject({
    success: true,
    body: 'to the end',
    headers: { 'set-cookie': 'a=1, b=2' },
  })
})

test('SSRF-10: a gzip bomb ends at the limit, and its connection with it', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const { server, client } = await start((request) => {
    request.socket.write(head(200, { 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' }))
    pour(request, Buffer.concat([Buffer.from(`${bomb.length.toString(16)}\r\n`), bomb, Buffer.from('\r\n')]))
  })
  const result = await client.request(requestTo(server.url, { maxResponseBytes: 1_000_000 }))
  expect(result).toMatchObject({ success: false, failure: 'too_large', status_code: 200, body: null })
  expect(result.error).toMatch(/1000000 bytes/)
  await server.emptied()
})

test('SSRF-10: a body without end is cut at the limit, chunked or not', async () => {
  const chunk = randomBytes(32_768)
  const { server, client } = await start((request) => {
    const isChunked = request.path === '/chunked'
    request.socket.write(head(200, isChunked ? { 'transfer-encoding': 'chunked' } : {}))
    pour(request, isChunked ? Buffer.concat([Buffer.from('8000\r\n'), chunk, Buffer.from('\r\n')]) : chunk)
  })
  for (const path of ['chunked', 'plain']) {
    const result = await client.request(requestTo(`${server.url}/${path}`, { maxResponseBytes: 500_000 }))
    expect(result).toMatchObject({ failure: 'too_large', status_code: 200 })
    await server.emptied()
  }
})

test('SSRF-10: a body of exactly the limit is whole', async () => {
  const { server, client } = await start((request) => reply(request, 200, 'x'.repeat(1000)))
  const ask = (maxResponseBytes: number) => client.request(requestTo(server.url, { maxResponseBytes }))
  expect(await ask(1000)).toMatchObject({ success: true })
  expect(await ask(999)).toMatchObject({ success: false, failure: 'too_large' })
})

test('SSRF-10: a body that drips is cut by the time of the whole call', async () => {
  const { server, client } = await start(({ socket }) => {
    socket.write(head(200, { 'content-length': '1000' }))
    const drip = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  const result = await client.request(requestTo(server.url, { timeoutMs: 200 }))
  expect(result).toMatchObject({ success: false, failure: 'timeout', status_code: 200, body: null })
  expect(result.duration_ms).toBeGreaterThanOrEqual(195)
  await server.emptied()
})

test('UP-14: a server that accepts and never answers is left at the deadline, and its place is free again', async () => {
  const server = await openLoopbackServer((request) => (request.path === '/' ? null : reply(request, 200)))
  const client = openHttpClient({ allowHosts: [server.host], clock: systemClock, connections: 1 })
  open.push(server, client)
  expect(await client.request(requestTo(server.url, { timeoutMs: 100 }))).toMatchObject({
    failure: 'timeout',
  })
  expect(await client.request(requestTo(`${server.url}/next`))).toMatchObject({ success: true })
})

test('P12: a stream gives its chunks as they come, decompressed', async () => {
  const body = gzipSync(TEXT)
  const { server, client } = await start((request) =>
    reply(request, 200, body, { 'content-encoding': 'gzip' }),
  )
  const { result, chunks } = await client.stream(requestTo(server.url), { idleTimeoutMs: 1000 })
  expect(result).toMatchObject({ success: true, status_code: 200, body_kind: 'none' })
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  expect(Buffer.concat(parts).toString()).toBe(TEXT)
})

test.each(['plain', 'gzip'] as const)(
  'P12: a reader that is slow holds the server back: %s',
  async (kind) => {
    let written = 0
    // Noise, so that compressing it changes little.
    const noise = randomBytes(1_000_000)
    const block = kind === 'gzip' ? gzipSync(noise) : noise
    const { server, client } = await start(({ socket }) => {
      socket.write(head(200, kind === 'gzip' ? { 'content-encoding': 'gzip' } : {}))
      const more = (): void => {
        while (!socket.destroyed && written < 200_000_000) {
          written += block.length
          if (!socket.write(block)) return
        }
      }
      socket.on('drain', more)
      more()
    })
    const stream = await client.stream(requestTo(server.url, { maxResponseBytes: 1e12 }), {
      idleTimeoutMs: 5000,
    })
    const before = await settled(() => written)
    expect(before).toBeLessThan(50_000_000)
    let read = 0
    for await (const chunk of stream.chunks) {
      const expected = noise.subarray(read, read + chunk.length)
      expect(expected.equals(chunk.subarray(0, expected.length))).toBe(true)
      read += chunk.length
      if (read > 30_000_000) break
    }
    expect(written).toBeGreaterThan(before)
    await server.emptied()
  },
)

test('P12: leaving the loop, close and cancel disconnect; silence and a break are thrown', async () => {
  const { server, client } = await start(({ socket, path }) => {
    socket.write(Buffer.concat([head(200, { 'content-length': '100' }), Buffer.from('first')]))
    if (path === '/break') setTimeout(() => socket.resetAndDestroy(), 30)
  })
  const controller = new AbortController()
  const read = async (path: string, then: (stream: { close(): void }) => unknown): Promise<unknown> => {
    const options = { idleTimeoutMs: path === '/silence' ? 100 : 5000 }
    const stream = await client.stream(requestTo(`${server.url}${path}`), options, controller.signal)
    try {
      for await (const chunk of stream.chunks) if (then(stream) === 'leave') return String(chunk)
      return 'ended'
    } catch (error) {
      return error
    }
  }
  expect(await read('/leave', () => 'leave')).toBe('first')
  await server.emptied()
  expect(await read('/silence', () => null)).toMatchObject({
    code: 'TIMEOUT',
    message: `Cannot ask "${server.host}": no data within 100 ms`,
  })
  expect(await read('/break', () => null)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  expect(await read('/close', (stream) => stream.close())).toMatchObject({ code: 'CANCELLED' })
  expect(await read('/cancel', () => controller.abort())).toMatchObject({ code: 'CANCELLED' })
  await server.emptied()
})

test('N16: a POST whose stream breaks has an unknown outcome', async () => {
  const { server, client } = await start(({ socket }) => {
    socket.write(Buffer.concat([head(200, { 'content-length': '100' }), Buffer.from('x')]))
    setTimeout(() => socket.destroy(), 30)
  })
  const { chunks } = await client.stream(requestTo(server.url, { method: 'POST' }), { idleTimeoutMs: 1000 })
  const read = async (): Promise<void> => {
    for await (const chunk of chunks) expect(chunk).toHaveLength(1)
  }
  await expect(read()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
})

test('P12: what is no success is read whole, redirects are followed, and the time until the head is bounded', async () => {
  const { server, client } = await start((request) => {
    if (request.path === '/moved') return reply(request, 302, '', { location: '/' })
    if (request.path === '/never') return null
    return reply(request, request.path === '/' ? 200 : 404, '{"a":1}')
  })
  const open404 = await client.stream(requestTo(`${server.url}/x`), { idleTimeoutMs: 1000 })
  expect(open404.result).toMatchObject({ success: false, status_code: 404, body: { a: 1 } })
  for await (const chunk of open404.chunks) expect(chunk).toBeUndefined()
  const moved = await client.stream(requestTo(`${server.url}/moved`), { idleTimeoutMs: 1000 })
  expect(moved.result).toMatchObject({ success: true })
  moved.close()
  const never = await client.stream(requestTo(`${server.url}/never`, { timeoutMs: 100 }), {
    idleTimeoutMs: 1000,
  })
  expect(never.result).toMatchObject({ failure: 'timeout' })
})

test('P12: a stream is retried only before it begins', async () => {
  const { server, client } = await start((request) =>
    reply(request, server.received.length === 1 ? 503 : 202, 'begun'),
  )
  const request = requestTo(server.url, { retries: 5, retryableStatuses: [503, 202] })
  const stream = await client.stream(request, { idleTimeoutMs: 1000 })
  expect(stream.result).toMatchObject({ success: true, status_code: 202, attempts: 2 })
  for await (const chunk of stream.chunks) expect(String(chunk)).toBe('begun')
  expect(server.received).toHaveLength(2)
})

test('SSRF-10: a stream has a limit of its own', async () => {
  const { server, client } = await start((request) => reply(request, 200, 'x'.repeat(1000)))
  const read = async (maxBytes?: number): Promise<number> => {
    const options = { idleTimeoutMs: 1000, ...(maxBytes === undefined ? {} : { maxBytes }) }
    const { chunks } = await client.stream(requestTo(server.url, { maxResponseBytes: 500 }), options)
    let size = 0
    for await (const chunk of chunks) size += chunk.length
    return size
  }
  expect(await read(1000)).toBe(1000)
  await expect(read()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
})

test('P12: a stream outlives the time of its head', async () => {
  const { server, client } = await start(async ({ socket }) => {
    socket.write(head(200, { 'content-length': '6' }))
    for (const letter of 'abcdef') {
      await delay(120)
      socket.write(letter)
    }
  })
  const { chunks } = await client.stream(requestTo(server.url, { timeoutMs: 500, attemptTimeoutMs: 400 }), {
    idleTimeoutMs: 1000,
  })
  let text = ''
  for await (const chunk of chunks) text += String(chunk)
  expect(text).toBe('abcdef')
})
