// A web server on 127.0.0.1 for tests, on plain sockets: it can also answer wrongly, slowly, or not at all.
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpRequest } from './http-request.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Counts the connections of the server. */
  readonly connection: number
  readonly socket: Socket
}

export interface LoopbackServer {
  /** `127.0.0.1:port`, as in allow_hosts. */
  readonly host: string
  readonly port: number
  readonly url: string
  /** Every request, in order. */
  readonly received: Received[]
  /** Connections that stand. */
  readonly sockets: ReadonlySet<Socket>
  /** Resolves when no connection stands any more. */
  emptied(): Promise<void>
  close(): Promise<void>
}

type Answering = (request: Received) => unknown

export async function openLoopbackServer(answer: Answering): Promise<LoopbackServer> {
  const sockets = new Set<Socket>()
  const received: Received[] = []
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = ++connections
    sockets.add(socket)
    let bytes = Buffer.alloc(0)
    let isUpgraded = false
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0) server.emit('emptied')
      })
      .on('data', (chunk) => {
        if (isUpgraded) return
        bytes = Buffer.concat([bytes, chunk])
        for (let read = readRequest(bytes); read !== null; read = readRequest(bytes)) {
          bytes = bytes.subarray(read.size)
          const request = { ...read.request, connection, socket }
          received.push(request)
          isUpgraded = 'upgrade' in request.headers
          answer(request)
        }
      })
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
    })
  })
  return {
    host: `127.0.0.1:${port}`,
    port,
    url: `http://127.0.0.1:${port}`,
    received,
    sockets,
    async emptied() {
      if (sockets.size > 0) await new Promise((resolve) => server.once('emptied', resolve))
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The number once it stops growing. */
export async function settled(read: () => number): Promise<number> {
  let before = -1
  while (read() !== before) {
    before = read()
    await delay(150)
  }
  return before
}

/** A request with the values that matter least. */
export function requestTo(url: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'GET',
    url,
    headers: {},
    body: null,
    timeoutMs: 5000,
    retries: 0,
    retryDelayMs: 10,
    retryableStatuses: [429, 502, 503, 504],
    isIdempotent: null,
    maxResponseBytes: 1_000_000,
    maxRedirects: 5,
    ...changes,
  }
}

/** Answers with a length, so that the connection can be used again. */
export function reply(
  { socket }: Received,
  status: number,
  body: string | Buffer = '',
  headers: Readonly<Record<string, string>> = {},
): void {
  socket.write(
    Buffer.concat([
      head(status, { 'content-length': String(Buffer.byteLength(body)), ...headers }),
      Buffer.from(body),
    ]),
  )
}

export function head(status: number, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Some Reason'}\r\n${lines.join('')}\r\n`)
}

const REASONS: Readonly<Record<number, string>> = { 200: 'OK', 404: 'Not Found', 503: 'Service Unavailable' }

function readRequest(
  bytes: Buffer,
): { size: number; request: Omit<Received, 'connection' | 'socket'> } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const [method = '', path = ''] = first.split(' ')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const size = end + 4 + Number(headers['content-length'] ?? 0)
  if (bytes.length < size) return null
  return { size, request: { method, path, headers, body: bytes.toString('utf8', end + 4, size) } }
}
