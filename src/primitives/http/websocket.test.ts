import { hash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import type { HttpClient } from './http-client.ts'
import { openHttpClient } from './http-client.ts'
import type { LoopbackServer, Received } from '../../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply, settled } from '../../../test/fixtures/loopback-server.ts'

const open: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

const start = async (
  answer: (request: Received) => unknown,
): Promise<{ server: LoopbackServer; client: HttpClient; request: ReturnType<typeof requestTo> }> => {
  const server = await openLoopbackServer(answer)
  const client = openHttpClient({ allowHosts: [server.host], clock: systemClock })
  open.push(server, client)
  return { server, client, request: requestTo(server, '/') }
}

const requestTo = ({ host }: LoopbackServer, path: string) => ({
  url: `ws://${host}${path}`,
  headers: { authorization: 'Bearer x' },
  timeoutMs: 2000,
})

const OPTIONS = { idleTimeoutMs: 2000 }

const accept = ({ socket, headers }: Received, more = ''): void => {
  const key = hash('sha1', `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${key}\r\n${more}\r\n`,
  )
}

const frame = (first: number, payload: Buffer | string): Buffer => {
  const bytes = Buffer.from(payload)
  const head =
    bytes.length < 126 ? [first, bytes.length] : [first, 126, bytes.length >> 8, bytes.length & 255]
  return Buffer.concat([Buffer.from(head), bytes])
}

/** Calls back with each whole frame of the client, which are all short here or of 16-bit length. */
const onFrames = ({ socket }: Received, take: (opcode: number, payload: Buffer) => void): void => {
  let bytes = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 6) {
      const short = (bytes[1] ?? 0) & 0x7f
      const at = short === 126 ? 4 : 2
      const length = short === 126 ? bytes.readUInt16BE(2) : short
      if (bytes.length < at + 4 + length) return
      const mask = bytes.subarray(at, at + 4)
      const payload = Buffer.from(
        bytes.subarray(at + 4, at + 4 + length).map((byte, i) => byte ^ (mask[i % 4] ?? 0)),
      )
      const opcode = (bytes[0] ?? 0) & 0x0f
      bytes = bytes.subarray(at + 4 + length)
      take(opcode, payload)
    }
  })
}

/** Gives every message back; answers a close. */
const echo = (request: Received): void => {
  accept(request)
  onFrames(request, (opcode, payload) => {
    request.socket.write(frame(0x80 | opcode, payload))
    if (opcode === 8) request.socket.end()
  })
}

const collect = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

test('P12: text and bytes go both ways in order, and close is answered', async () => {
  const { server, client, request } = await start(echo)
  const session = await client.websocket(request, OPTIONS)
  const sent = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? `text ü ${i}` : Buffer.alloc(i % 50, i)))
  const received: unknown[] = []
  const reading = (async () => {
    for await (const message of session.messages) {
      received.push(message)
      if (received.length === sent.length) break
    }
  })()
  for (const message of sent) await session.send(message)
  await reading
  expect(received).toEqual(sent)
  expect(server.received[0]).toMatchObject({
    method: 'GET',
    headers: { upgrade: 'websocket', 'sec-websocket-version': '13', authorization: 'Bearer x' },
  })
  expect(server.received[0]?.headers).not.toHaveProperty('sec-websocket-extensions')
  await server.emptied()
  await expect(session.send('late')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
})

test('P12: what the server sends with its first answer is not lost; pings are answered; its close ends the loop', async () => {
  const answers: string[] = []
  const { server, client, request } = await start((received) => {
    accept(received)
    received.socket.write(Buffer.concat([frame(0x81, 'early'), frame(0x89, 'beat')]))
    onFrames(received, (opcode, payload) => {
      answers.push(`${opcode} ${opcode === 8 ? payload.readUInt16BE(0) : payload.toString()}`)
      if (opcode === 10) received.socket.write(frame(0x88, Buffer.from([15, 160])))
      if (opcode === 8) received.socket.end()
    })
  })
  const session = await client.websocket(request, OPTIONS)
  expect(await collect(session.messages)).toEqual(['early'])
  await server.emptied()
  expect(answers).toEqual(['10 beat', '8 4000'])
})

test('P12: a reader that is slow holds the server back', async () => {
  let written = 0
  const { server, client, request } = await start((received) => {
    accept(received)
    const { socket } = received
    const message = frame(0x82, Buffer.alloc(60_000))
    const more = (): void => {
      while (!socket.destroyed && written < 200_000_000) {
        written += message.length
        if (!socket.write(message)) return
      }
    }
    socket.on('drain', more)
    more()
  })
  const session = await client.websocket(request, OPTIONS)
  const before = await settled(() => written)
  expect(before).toBeLessThan(50_000_000)
  let read = 0
  for await (const message of session.messages) {
    read += message.length
    if (read > 20_000_000) break
  }
  expect(written).toBeGreaterThan(before)
  await server.emptied()
})

test('P12: sending waits while the server does not read', async () => {
  const { client, request } = await start((received) => {
    accept(received)
    received.socket.pause()
    setTimeout(() => received.socket.resume(), 300)
  })
  const session = await client.websocket(request, OPTIONS)
  const started = performance.now()
  for (let sent = 0; sent < 30; sent++) await session.send(Buffer.alloc(1_000_000))
  expect(performance.now() - started).toBeGreaterThan(150)
})

test('P12: silence ends the session; pings of the server are life', async () => {
  const { server, client, request } = await start((received) => {
    accept(received)
    let beats = 0
    const beat = setInterval(() => received.socket.write(frame(0x89, '')), 50)
    setInterval(() => beats++ > 5 && clearInterval(beat), 50).unref()
    received.socket.on('close', () => clearInterval(beat))
    onFrames(received, (opcode) => opcode === 8 && received.socket.end())
  })
  const started = performance.now()
  const session = await client.websocket(request, { idleTimeoutMs: 300 })
  await expect(collect(session.messages)).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(performance.now() - started).toBeGreaterThan(500)
  await server.emptied()
})

test('UP-14: a break, a message over the limit and a broken frame are thrown', async () => {
  const { server, client } = await start((received) => {
    accept(received)
    if (received.path === '/break') received.socket.resetAndDestroy()
    else if (received.path === '/end') received.socket.end()
    else
      received.socket.write(
        received.path === '/large' ? frame(0x81, 'x'.repeat(2000)) : Buffer.from([0xff, 0xff]),
      )
    onFrames(received, (opcode) => opcode === 8 && received.socket.end())
  })
  const read = async (path: string): Promise<unknown> => {
    const session = await client.websocket(requestTo(server, path), {
      idleTimeoutMs: 2000,
      maxMessageBytes: 1000,
    })
    return collect(session.messages)
  }
  await expect(read('/break')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  await expect(read('/end')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  await expect(read('/large')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
  await expect(read('/noise')).rejects.toMatchObject({ details: { failure: 'protocol' } })
  await server.emptied()
})

test('P12: a handshake that is refused, wrong or never answered is thrown', async () => {
  const { server, client } = await start((received) => {
    const { socket, path } = received
    if (path === '/401') return reply(received, 401, 'no')
    if (path === '/302') return reply(received, 302, '', { location: '/' })
    if (path === '/key')
      return socket.write('HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    if (path === '/other')
      return socket.write('HTTP/1.1 101 X\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n')
    if (path === '/extension') return accept(received, 'sec-websocket-extensions: permessage-deflate\r\n')
    if (path === '/protocol') return accept(received, 'sec-websocket-protocol: other\r\n')
    if (path === '/mcp') return accept(received, 'sec-websocket-protocol: mcp\r\n')
    return null
  })
  const ask = (path: string, protocols: readonly string[] = []) => {
    const timeoutMs = path === '/never' ? 200 : 5000
    return client.websocket({ ...requestTo(server, path), timeoutMs }, { ...OPTIONS, protocols })
  }
  await expect(ask('/401')).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { status_code: 401 } })
  await expect(ask('/302')).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { status_code: 302 } })
  for (const path of ['/key', '/other', '/extension', '/protocol']) {
    await expect(ask(path, ['mcp'])).rejects.toMatchObject({ details: { failure: 'protocol' } })
  }
  await expect(ask('/never')).rejects.toMatchObject({ code: 'TIMEOUT' })
  await server.emptied()
  const session = await ask('/mcp', ['mcp', 'b'])
  expect(session.protocol).toBe('mcp')
})

test('SSRF-01: a websocket to a private address, or over another scheme, is refused', async () => {
  const { server, client } = await start(echo)
  const ask = (url: string, headers = {}) => client.websocket({ url, headers, timeoutMs: 1000 }, OPTIONS)
  await expect(ask(`ws://localhost:${server.port}/`)).rejects.toMatchObject({ code: 'EGRESS_DENIED' })
  await expect(ask('ws://[::1]/')).rejects.toMatchObject({ code: 'EGRESS_DENIED' })
  await expect(ask(server.url)).rejects.toMatchObject({ code: 'EGRESS_DENIED' })
  await expect(ask('nowhere')).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  await expect(ask(`ws://${server.host}`, { 'sec-websocket-key': 'x' })).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
  })
  expect(server.sockets.size).toBe(0)
})

test('P12: cancel and close of the client end sessions at once; a server that never says goodbye is left', async () => {
  const { server, client, request } = await start((received) => accept(received))
  const controller = new AbortController()
  const cancelled = await client.websocket(request, OPTIONS, controller.signal)
  const closed = await client.websocket(request, OPTIONS)
  controller.abort()
  await expect(collect(cancelled.messages)).rejects.toMatchObject({ code: 'CANCELLED' })
  await client.close()
  await expect(collect(closed.messages)).rejects.toMatchObject({ code: 'CANCELLED' })
  await server.emptied()
  await expect(client.websocket(request, OPTIONS)).rejects.toMatchObject({ code: 'CANCELLED' })

  const mute = await start((received) => {
    accept(received)
    received.socket.allowHalfOpen = true
  })
  const session = await mute.client.websocket(mute.request, OPTIONS)
  await session.close()
  expect(await collect(session.messages)).toEqual([])
  await session.close()
})
