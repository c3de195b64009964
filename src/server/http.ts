import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node'
import type { McpServerFactory, ServerEventBus } from '@modelcontextprotocol/server'
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { openLegacySessions } from './legacy-sessions.ts'
import type { Refusal } from './read-body.ts'
import { readBody } from './read-body.ts'
import type { Desk } from './console.ts'
import { CONSOLE_PATH, createConsole } from './console.ts'
import { isAuthorized } from './token.ts'

interface HttpOptions {
  readonly port: number
  /** Null: anybody on this machine may call. */
  readonly token: string | null
  readonly clock: Clock
  readonly desk: Desk
  /** What is told to clients of the newer era that listen; without it nothing ever is. */
  readonly bus?: ServerEventBus
}

export interface HttpEndpoint {
  readonly url: string
  close(): Promise<void>
}

const PATH = '/mcp'
const METHODS = ['GET', 'POST', 'DELETE']
const LOOPBACK = '127.0.0.1'
const MOST_CONNECTIONS = 256

/** Servers over streamable HTTP: loopback only, both eras, nothing parsed before its guards have passed. */
export async function openHttp(
  build: McpServerFactory,
  { port, token, clock, desk, bus }: HttpOptions,
): Promise<HttpEndpoint> {
  const modern = createMcpHandler(build, { legacy: 'reject', ...(bus === undefined ? {} : { bus }) })
  const answerModern = toNodeHandler(modern)
  const legacy = openLegacySessions(build, clock)
  const answerConsole = createConsole(desk, clock)
  const isHostAllowed = localhostHostValidation()
  const isOriginAllowed = localhostOriginValidation()

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isHostAllowed(request, response) || !isOriginAllowed(request, response)) return
    const [path = ''] = request.url?.split('?', 1) ?? []
    if (path === PATH) return answer(request, response)
    if (path.startsWith(CONSOLE_PATH)) return answerConsole(request, response, path)
    refuse(response, { status: 404, code: -32_600, message: `Nothing is here; the endpoint is ${PATH}` })
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (token !== null && !isAuthorized(request.headers.authorization, token)) {
      response.setHeader('WWW-Authenticate', 'Bearer realm="kiwi"')
      return refuse(response, { status: 401, code: -32_001, message: 'Unauthorized' })
    }
    if (!METHODS.includes(request.method ?? '')) {
      response.setHeader('Allow', METHODS.join(', '))
      return refuse(response, { status: 405, code: -32_000, message: 'Method not allowed' })
    }
    const body = request.method === 'POST' ? await readBody(request) : { value: undefined }
    if ('refusal' in body) return refuse(response, body.refusal)
    if (legacy.take(request, response, body.value)) return
    const isLegacy =
      request.method !== 'POST' ||
      (await isLegacyRequest(await toWebRequest(sdkRequest(request), body.value), body.value))
    if (!isLegacy) return answerModern(sdkRequest(request), response, body.value)
    const end = await legacy.handle(request, response, body.value)
    if (end !== 'answered') refuse(response, SESSION_REFUSALS[end])
  }

  const server = createServer({ headersTimeout: 10_000, requestTimeout: 60_000 }, (request, response) => {
    handle(request, response).catch(() => {
      if (!response.headersSent) refuse(response, { status: 500, code: -32_603, message: 'Internal error' })
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  const url = `http://${LOOPBACK}:${await listen(server, port)}${PATH}`
  return {
    url,
    async close() {
      await Promise.all([modern.close(), legacy.close()])
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The same object: the SDK's type forbids an undefined method, which a server never sees. */
function sdkRequest(request: IncomingMessage): Parameters<typeof toWebRequest>[0] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- differs only in how absence is written
  return request as Parameters<typeof toWebRequest>[0]
}

const SESSION_REFUSALS: Readonly<Record<'unknown' | 'missing' | 'full', Refusal>> = {
  unknown: { status: 404, code: -32_001, message: 'Session not found' },
  missing: { status: 400, code: -32_000, message: 'Mcp-Session-Id is required' },
  full: { status: 503, code: -32_000, message: 'Too many sessions are open' },
}

function refuse(response: ServerResponse, { status, id, code, message }: Refusal): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }))
}

function listen(server: HttpServer, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      reject(
        isTaken
          ? new KiwiError('PORT_IN_USE', `Cannot listen on port ${port}: another program does`, {
              cause: error,
            })
          : error,
      )
    })
    server.listen(port, LOOPBACK, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}
