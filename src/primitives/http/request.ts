import type { MayReach } from '../../shared/progress.ts'
import type { Problem } from './result.ts'

/** A request with concrete values: nothing in it is filled in or looked up any more. */
export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** For the whole call, all attempts and waits included; for a stream until its head has arrived. */
  readonly timeoutMs: number
  /** For one attempt; without it only the whole call is bounded and a timeout is never tried again. */
  readonly attemptTimeoutMs?: number
  /** Extra attempts. */
  readonly retries: number
  readonly retryDelayMs: number
  readonly retryableStatuses: readonly number[]
  /** What the manifest says; null: the method decides, or an Idempotency-Key header. */
  readonly isIdempotent: boolean | null
  /** Bytes of the body after decompression. */
  readonly maxResponseBytes: number
  readonly maxRedirects: number
  /** Whether a redirect may lead there: what was judged is the address of the request. Left out, to any host. */
  readonly mayReach?: MayReach | undefined
}

/** One request as it goes out, after all checks. */
export interface Target {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Sending it twice does no more than sending it once. */
  readonly isIdempotent: boolean
  /** A request of this call was already answered with a redirect. */
  readonly isFollowed: boolean
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Beyond this the wire would fold a character into another one, a line break among them. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** What frames the message, steers the connection or speaks to a proxy is ours to say. */
const OURS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'expect',
])
const OUR_PREFIXES = /^(?:proxy-|sec-websocket-)/

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Why a header of this name may not be set, in any case of its letters; null when it may. */
export function whyNotHeader(name: string): string | null {
  if (!TOKEN.test(name)) return 'it is not a header name'
  const lower = name.toLowerCase()
  return OURS.has(lower) || OUR_PREFIXES.test(lower) ? 'the connection sets it' : null
}

/** Refuses what could change the message or the connection, before any network use. */
export function checkRequest(
  request: Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body' | 'isIdempotent'>,
): Target | Problem {
  const method = request.method.toUpperCase()
  if (!TOKEN.test(method) || method === 'CONNECT' || method === 'TRACE') {
    return refused(`method ${JSON.stringify(request.method.slice(0, 32))}`, 'it is not allowed')
  }
  const url = readUrl(request.url)
  if (url === null) return refused('the URL', 'it is not an absolute URL')
  const headers: Record<string, string> = {
    accept: '*/*',
    'user-agent': 'kiwi-mcp',
    'accept-encoding': 'gzip, deflate, br',
  }
  for (const [given, value] of Object.entries(request.headers)) {
    const name = given.toLowerCase()
    const why = whyNotHeader(name)
    if (why !== null) return refused(`header ${JSON.stringify(given.slice(0, 64))}`, why)
    if (!VALUE.test(value)) {
      return refused(
        `header "${name}"`,
        'its value holds a line break or another character that headers cannot',
      )
    }
    headers[name] = value
  }
  const isIdempotent = request.isIdempotent ?? (IDEMPOTENT.has(method) || 'idempotency-key' in headers)
  return { method, url, headers, body: request.body, isIdempotent, isFollowed: false }
}

/** Parsing is the dearest part of a request's checks, so it is done once. */
function readUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

function refused(what: string, why: string): Problem {
  return { failure: 'bad_request', error: `Cannot send ${what}: ${why}` }
}
