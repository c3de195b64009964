import type { Clock } from '../../shared/clock.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { Stop } from '../../shared/stop.ts'
import type { Lookup } from './egress-guard.ts'
import { HTTP_SCHEMES, createEgressGuard, destinationOf } from './egress-guard.ts'
import type { EventOptions, HttpStream } from './events.ts'
import { readEvents } from './events.ts'
import type { CallMeans } from './call.ts'
import { call } from './call.ts'
import { Deadline, pause } from './deadline.ts'
import type { OriginLimits, Origins } from './origins.ts'
import { openOrigins } from './origins.ts'
import type { HttpRequest } from './request.ts'
import type { HttpResult } from './result.ts'
import { createLinkedList } from './linked-list.ts'
import type { ServerSentEvent } from './sse-parser.ts'
import type { WebSocketOptions, WebSocketRequest } from './websocket.ts'
import { openWebSocket } from './websocket.ts'
import type { WebSocketSession } from './websocket-session.ts'

/** The http_client primitive: the one way out to the network. */
export interface HttpClient {
  request(request: HttpRequest, signal?: Stop): Promise<HttpResult>
  /** A 2xx body as it comes; `timeoutMs` of the request ends with its head, then `idleTimeoutMs` bounds each wait. */
  stream(request: HttpRequest, options: StreamOptions, signal?: Stop): Promise<HttpStream>
  /** Throws a KiwiError when the stream cannot be had or breaks for good; ends quietly when the caller aborts. */
  events(request: HttpRequest, options: EventOptions, signal?: Stop): AsyncIterable<ServerSentEvent>
  /** Throws a KiwiError when the websocket cannot be opened. */
  websocket(request: WebSocketRequest, options: WebSocketOptions, signal?: Stop): Promise<WebSocketSession>
  /** Why an address may not be reached, or null; what nobody can look up now passes. */
  judge(address: string): Promise<KiwiError | null>
  /** Ends every call, stream and connection at once. */
  close(): Promise<void>
}

interface StreamOptions {
  readonly idleTimeoutMs: number
  /** Bytes of the whole stream; `maxResponseBytes` of the request if not given. */
  readonly maxBytes?: number
}

export interface HttpClientOptions extends Partial<OriginLimits> {
  /** `host` or `host:port` that may be reached although it is not public. */
  readonly allowHosts: readonly string[]
  readonly clock: Clock
  /** Between 0 and 1, for the jitter of retries. */
  readonly random?: () => number
  readonly lookup?: Lookup
}

const LIMITS: OriginLimits = {
  connections: 100,
  idleConnections: 20,
  origins: 64,
  keepAliveMs: 4000,
  connectTimeoutMs: 10_000,
}

const CLOSED = { failure: 'cancelled', error: 'the HTTP client was closed' } as const

export function openHttpClient({
  allowHosts,
  lookup,
  clock,
  random = Math.random,
  ...given
}: HttpClientOptions): HttpClient {
  const limits = { ...LIMITS, ...given }
  const guard = createEgressGuard(allowHosts, lookup)
  const live = createLinkedList<Deadline>()
  let origins: Origins | null = null
  let isClosed = false

  // undici takes long to load, so the first call that gets as far as the network loads it.
  const load = async (): Promise<Origins> => {
    const undici = await import('undici')
    return (origins ??= openOrigins(undici, guard, limits))
  }
  const poolFor: CallMeans['poolFor'] = (url) =>
    origins?.poolFor(url) ?? load().then((loaded) => loaded.poolFor(url))
  const means: CallMeans = { guard, clock, random, poolFor }
  const open = (timeoutMs: number, signal: Stop | undefined): Deadline => {
    const deadline = new Deadline({ timeoutMs, signal, clock, live })
    if (isClosed) deadline.end(CLOSED)
    return deadline
  }
  const stream: HttpClient['stream'] = async (request, options, signal) => {
    const deadline = open(request.timeoutMs, signal)
    const streaming = {
      idleMs: options.idleTimeoutMs,
      maxBytes: options.maxBytes ?? request.maxResponseBytes,
    }
    const { result, chunks } = await call(request, streaming, deadline, means)
    const end = (): void => deadline.end({ failure: 'cancelled', error: 'the stream was closed' })
    return { result, chunks: chunks?.items ?? nothing(), close: end }
  }

  return {
    stream,
    async request(request, signal) {
      const { result } = await call(request, null, open(request.timeoutMs, signal), means)
      return result
    },
    events(request, eventOptions, signal) {
      return readEvents(request, eventOptions, {
        // Each event is bounded; all of them together are not.
        open: (each) => stream(each, { ...eventOptions, maxBytes: Number.POSITIVE_INFINITY }, signal),
        async wait(ms) {
          const deadline = open(Number.POSITIVE_INFINITY, signal)
          const mayGoOn = await pause(ms, deadline)
          deadline.release()
          return mayGoOn
        },
        signal,
      })
    },
    async websocket(request, socketOptions, signal) {
      const deadline = open(request.timeoutMs, signal)
      try {
        const undici = await import('undici')
        return await openWebSocket(request, socketOptions, { ...limits, undici, guard, deadline })
      } catch (error) {
        deadline.release()
        throw error
      }
    },
    async judge(address) {
      const url = new URL(address)
      const refused = guard.judgeUrl(url, HTTP_SCHEMES)
      if (refused !== null) return refused
      const found = await guard.resolve(destinationOf(url)).catch((error: unknown) => error)
      return found instanceof KiwiError ? found : null
    },
    async close() {
      isClosed = true
      for (let next = live.first; next !== null; next = live.first) next.end(CLOSED)
      origins?.close()
    },
  }
}

async function* nothing(): AsyncGenerator<never, void, void> {}
