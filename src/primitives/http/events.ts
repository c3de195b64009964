import { KiwiError } from '../../shared/errors.ts'
import type { Stop } from '../../shared/stop.ts'
import type { HttpRequest } from './request.ts'
import { checkRequest } from './request.ts'
import type { HttpResult } from './result.ts'
import { errorOf } from './result.ts'
import type { ServerSentEvent, SseParser } from './sse-parser.ts'
import { createSseParser } from './sse-parser.ts'

export interface EventOptions {
  /** Connect again when the stream ends or breaks, from the last event on; only what is idempotent is repeated. */
  readonly reconnect: boolean
  readonly reconnectDelayMs: number
  /** Longest silence; comments of the server count as life. */
  readonly idleTimeoutMs: number
  /** Characters of one event. */
  readonly maxEventBytes?: number
  /** Connections in a row that bring no event before it gives up. */
  readonly maxReconnects?: number
}

/** A body that is read as it comes. */
export interface HttpStream {
  /** The head; when it is no success, the body too. */
  readonly result: HttpResult
  /** Chunks after decompression, pulled by the reader; a break is thrown as a KiwiError, leaving disconnects. */
  readonly chunks: AsyncIterable<Uint8Array>
  close(): void
}

interface EventMeans {
  readonly open: (request: HttpRequest) => Promise<HttpStream>
  /** Waits; says false when the call is over. */
  readonly wait: (ms: number) => Promise<boolean>
  readonly signal: Stop | undefined
}

const DEFAULTS = { maxEventBytes: 10 * 1024 * 1024, maxReconnects: 10 }
const CAP_MS = 30_000
/** What a server may ask for: no busy loop, no sleep without end. */
const ASKED_MS = { least: 100, most: 60_000 }

/** Server-sent events in order, over as many connections as it takes. Ends on 204 and when the caller aborts. */
export async function* readEvents(
  request: HttpRequest,
  options: EventOptions,
  means: EventMeans,
): AsyncGenerator<ServerSentEvent, void, void> {
  const { maxEventBytes, maxReconnects } = { ...DEFAULTS, ...options }
  const mayReconnect = options.reconnect && isRepeatable(request)
  let delayMs = options.reconnectDelayMs
  let lastId = ''
  let isAgain = false
  let fruitless = 0
  while (true) {
    // What a broken connection left unfinished is no event: the next one begins after the last whole event.
    const parser = createSseParser(maxEventBytes, lastId)
    try {
      const stream = await openEvents(request, lastId, means)
      if (stream === null) return
      isAgain = mayReconnect
      for await (const event of parseEvents(stream, parser)) {
        fruitless = 0
        yield event
      }
    } catch (error) {
      if (means.signal?.aborted === true) return
      if (!isAgain || !isPassing(error, request)) throw error
    }
    if (!isAgain) return
    if (++fruitless > maxReconnects) throw fruitlessError(request, fruitless)
    lastId = parser.lastId
    delayMs = bounded(parser.retryMs) ?? delayMs
    if (!(await means.wait(Math.min(Math.max(CAP_MS, delayMs), delayMs * 2 ** (fruitless - 1))))) return
  }
}

function fruitlessError({ url }: HttpRequest, count: number): KiwiError {
  const error = `Cannot read events of "${new URL(url).host}": ${count} connections in a row brought none`
  return errorOf({ failure: 'connection', error })
}

async function* parseEvents(
  { chunks }: HttpStream,
  parser: SseParser,
): AsyncGenerator<ServerSentEvent, void, void> {
  for await (const chunk of chunks) yield* parser.push(chunk)
}

/** A stream of events; null when the server has none any more. */
async function openEvents(
  request: HttpRequest,
  lastId: string,
  means: EventMeans,
): Promise<HttpStream | null> {
  const accept = { accept: 'text/event-stream', 'cache-control': 'no-store', ...request.headers }
  // A header holds bytes: those of the id in UTF-8.
  const bytes = Buffer.from(lastId, 'utf8').toString('latin1')
  const headers = lastId === '' ? accept : { ...accept, 'last-event-id': bytes }
  const stream = await means.open({ ...request, headers })
  const { status_code, body, failure, error, headers: given } = stream.result
  if (failure !== null) {
    const said =
      failure === 'status' ? `Cannot read events of "${new URL(request.url).host}": ${error}` : error
    throw errorOf({ failure, error: said ?? '' }, { status_code, body, headers: given })
  }
  if (status_code !== 204 && /^text\/event-stream\s*(?:;|$)/i.test(given['content-type'] ?? '')) return stream
  stream.close()
  if (status_code === 204) return null
  throw errorOf(
    { failure: 'protocol', error: 'Cannot read events: the answer is no text/event-stream' },
    { status_code, headers: given },
  )
}

function bounded(askedMs: number | null): number | null {
  return askedMs === null ? null : Math.min(ASKED_MS.most, Math.max(ASKED_MS.least, askedMs))
}

function isRepeatable(request: HttpRequest): boolean {
  const target = checkRequest(request)
  return 'isIdempotent' in target && target.isIdempotent
}

/** A break that another connection may mend. */
function isPassing(error: unknown, request: HttpRequest): boolean {
  if (!(error instanceof KiwiError)) return false
  const { failure, status_code } = error.details
  if (failure === 'status') return request.retryableStatuses.some((status) => status === status_code)
  return failure === 'connection' || failure === 'dns' || failure === 'timeout'
}
