import { hash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { EgressGuard } from './egress-guard.ts'
import { WEBSOCKET_SCHEMES } from './egress-guard.ts'
import type { Deadline } from './deadline.ts'
import type { Undici } from './connection.ts'
import { openConnection } from './connection.ts'
import type { HttpRequest, Target } from './request.ts'
import { checkRequest } from './request.ts'
import type { Problem } from './result.ts'
import { errorOf, problemOf, worded } from './result.ts'
import type { WebSocketSession } from './websocket-session.ts'
import { openWebSocketSession } from './websocket-session.ts'

export type WebSocketRequest = Pick<HttpRequest, 'url' | 'headers' | 'timeoutMs'>

export interface WebSocketOptions {
  /** Subprotocols, the dearest first. */
  readonly protocols?: readonly string[]
  /** Longest silence of the server while a reader waits; its pings count as life. */
  readonly idleTimeoutMs: number
  readonly maxMessageBytes?: number
}

interface WebSocketMeans {
  readonly undici: Undici
  readonly guard: EgressGuard
  readonly deadline: Deadline
  readonly connectTimeoutMs: number
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024

/**
 * Opens a websocket through the guard. The frames are our own: undici's WebSocket starts reading again whenever it
 * likes, so a slow reader could not hold a fast server back. A refusal is thrown.
 */
export async function openWebSocket(
  request: WebSocketRequest,
  { protocols = [], idleTimeoutMs, maxMessageBytes = MAX_MESSAGE_BYTES }: WebSocketOptions,
  means: WebSocketMeans,
): Promise<WebSocketSession> {
  const target = checkRequest({ ...request, method: 'GET', body: null, isIdempotent: null })
  if ('failure' in target) throw errorOf(target)
  const refused = means.guard.judgeUrl(target.url, WEBSOCKET_SCHEMES)
  if (refused !== null) throw refused
  const { socket, protocol } = await shakeHands(target, protocols, means)
  const { host } = target.url
  return openWebSocketSession(socket, {
    host,
    protocol,
    idleTimeoutMs,
    maxMessageBytes,
    deadline: means.deadline,
  })
}

interface Upgraded {
  readonly socket: Duplex
  readonly protocol: string
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

function shakeHands(target: Target, protocols: readonly string[], means: WebSocketMeans): Promise<Upgraded> {
  const { undici, guard, deadline, connectTimeoutMs } = means
  const { host, pathname, search } = target.url
  const key = randomBytes(16).toString('base64')
  const dialler = { url: asHttp(target.url), guard, timeoutMs: connectTimeoutMs, session: undefined }
  return new Promise((resolve, reject) => {
    const connection = openConnection(undici, dialler, 1000, () => {})
    const fail = (problem: Problem, details: Readonly<Record<string, unknown>> = {}): void => {
      deadline.listener = null
      connection.destroy()
      reject(errorOf(problem, details))
    }
    deadline.listener = { stop: (problem) => fail(worded(host, problem)) }
    if (deadline.problem !== null) return fail(worded(host, deadline.problem))
    connection.client.dispatch(
      {
        path: `${pathname}${search}`,
        method: 'GET',
        upgrade: 'websocket',
        headers: {
          ...target.headers,
          'sec-websocket-key': key,
          'sec-websocket-version': '13',
          ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
        },
      },
      {
        onRequestStart() {},
        onRequestUpgrade(_controller, _status, headers, upgraded) {
          const protocol = one(headers, 'sec-websocket-protocol')
          const why = whyNoWebSocket(headers, key, protocols)
          const error = `Cannot open a websocket to "${host}": ${why}`
          if (why !== null) return fail({ failure: 'protocol', error })
          deadline.listener = null
          // The socket is no longer the client's; undici still works on this turn.
          setImmediate(() => void connection.client.destroy())
          resolve({ socket: upgraded, protocol })
        },
        onResponseStart(_controller, status, headers, reason) {
          if (status < 200) return
          const error = `Cannot open a websocket to "${host}": ${status} ${reason ?? ''}`.trimEnd()
          fail({ failure: 'status', error }, { status_code: status, headers })
        },
        onResponseError(_controller, error) {
          fail(problemOf(error, host))
        },
      },
    )
  })
}

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

function whyNoWebSocket(headers: Headers, key: string, protocols: readonly string[]): string | null {
  if (one(headers, 'upgrade').toLowerCase() !== 'websocket') return 'the server speaks something else'
  const accept = hash('sha1', `${key}${ACCEPT_SUFFIX}`, 'base64')
  if (one(headers, 'sec-websocket-accept') !== accept) return 'the server gave a wrong answer to the key'
  if (one(headers, 'sec-websocket-extensions') !== '') return 'the server uses an extension unasked'
  const protocol = one(headers, 'sec-websocket-protocol')
  return protocol === '' || protocols.includes(protocol) ? null : 'the server chose a protocol unasked'
}

function one(headers: Headers, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

function asHttp(url: URL): URL {
  return new URL(url.href.replace(/^ws/, 'http'))
}
