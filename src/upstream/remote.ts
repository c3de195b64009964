import type { EventOptions, HttpStream } from '../primitives/http/events.ts'
import type { HttpClient } from '../primitives/http/http-client.ts'
import type { HttpRequest } from '../primitives/http/request.ts'
import type { HttpResult } from '../primitives/http/result.ts'
import { errorOf } from '../primitives/http/result.ts'
import type { ServerSentEvent } from '../primitives/http/sse-parser.ts'
import { KiwiError } from '../shared/errors.ts'
import { isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { loginRequired } from './oauth/failures.ts'

/** An MCP server at an address, as one caller uses it. */
export interface Remote {
  /** How people know it. */
  readonly id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly startupMs: number
  /** Who calls, where the server asks for a login. */
  readonly credential?: Credential | undefined
}

/** What a login gave; it may change while the connection stands. */
export interface Credential {
  /** The value of the Authorization header; null while there is none. */
  header(): Promise<string | null>
  /**
   * The server refused `sent`: kept when it is worth sending again, else fails with LOGIN_REQUIRED or why it could not be
   * had. `isAgain`: so it did the one before, for the same request.
   */
  renew(refusal: Refusal, isAgain: boolean): Promise<void>
}

export interface Refusal {
  readonly status: number
  /** The header WWW-Authenticate, or ''. */
  readonly challenge: string
  /** What was sent as Authorization. */
  readonly sent: string | null
}

/** One request to a remote, over its own address unless it names another of the same server. */
interface Order {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Until the head of the answer is there; none: only the caller's signal ends it. */
  readonly timeoutMs?: number
}

/** Requests to one remote, with who calls in each. */
export interface RemoteLine {
  /** An answer of any status but one that asks for another login; fails when there is none. */
  open(order: Order, signal: AbortSignal): Promise<HttpStream>
  events(order: Order, options: EventOptions, signal: AbortSignal): AsyncIterable<ServerSentEvent>
  /** The answer as the error it stands for. */
  refused(result: HttpResult): KiwiError
}

/** A login that is renewed and refused again and again is not what is missing: one renewal and three further rights. */
const MOST_RENEWALS = 4

export function openRemoteLine(remote: Remote, httpClient: HttpClient): RemoteLine {
  const { id, credential } = remote

  const refused = ({ failure, error, status_code }: HttpResult): KiwiError => {
    const known = errorOf({ failure: failure ?? 'protocol', error: '' }, { status_code })
    return new KiwiError(known.code, inWords(id, error ?? 'it gave no answer'), {
      details: known.details,
      ...(failure === 'status' ? statusAdvice(status_code) : {}),
    })
  }

  return {
    refused,
    open: (order, signal) =>
      withLogin(remote, async (sent) => {
        const stream = await httpClient.stream(requestOf(remote, order, sent), UNBOUNDED, signal)
        const { failure, status_code, headers } = stream.result
        if (failure !== null && failure !== 'status') throw refused(stream.result)
        const refusal = credential && refusalOf(status_code, headers, sent)
        return refusal ?? stream
      }),
    async *events(order, options, signal) {
      let lastId = ''
      for (let count = 0; ; count++) {
        const sent = (await credential?.header()) ?? null
        const request = requestOf(remote, order, sent)
        const headers = { ...request.headers, ...goingOn(lastId) }
        try {
          for await (const event of httpClient.events({ ...request, headers }, options, signal)) {
            lastId = event.id
            count = 0
            yield event
          }
          return
        } catch (error) {
          const refusal = refusalIn(error, sent)
          if (credential === undefined || refusal === null || count === MOST_RENEWALS) throw worded(id, error)
          await credential.renew(refusal, count > 0)
        }
      }
    },
  }
}

/**
 * Tries again with what a renewal gave, as long as the server asks for one. `attempt` gets the Authorization header, and
 * gives a refusal back only where there is a credential to be renewed.
 */
export async function withLogin<T>(
  { id, credential }: Remote,
  attempt: (sent: string | null) => Promise<T | Refusal>,
): Promise<T> {
  for (let count = 0; ; count++) {
    const got = await attempt((await credential?.header()) ?? null)
    if (!isRefusal(got)) return got
    if (credential === undefined || count === MOST_RENEWALS) throw loginRequired(id, 'it takes no login')
    await credential.renew(got, count > 0)
  }
}

/** Where a stream goes on; a header holds bytes: those of the id in UTF-8. */
export function goingOn(lastId: string): Record<string, string> {
  return lastId === '' ? {} : { 'last-event-id': Buffer.from(lastId, 'utf8').toString('latin1') }
}

const UNBOUNDED = { idleTimeoutMs: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }
const MOST_REDIRECTS = 5

function requestOf({ url, headers }: Remote, order: Order, authorization: string | null): HttpRequest {
  return {
    method: order.method,
    url: order.url ?? url,
    headers: { ...headers, ...order.headers, ...(authorization === null ? {} : { authorization }) },
    body: order.body ?? null,
    timeoutMs: order.timeoutMs ?? Number.POSITIVE_INFINITY,
    retries: 0,
    retryDelayMs: 0,
    retryableStatuses: [502, 503, 504],
    isIdempotent: null,
    maxResponseBytes: LIMITS.lineBytes,
    maxRedirects: MOST_REDIRECTS,
  }
}

/** Null for a status that no other login would change. */
function refusalOf(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  sent: string | null,
): Refusal | null {
  const given = headers['www-authenticate']
  const challenge = typeof given === 'string' ? given : ''
  const isAsked = status === 401 || (status === 403 && /insufficient_scope/.test(challenge))
  return isAsked ? { status, challenge, sent } : null
}

function isRefusal(got: unknown): got is Refusal {
  return typeof got === 'object' && got !== null && 'challenge' in got
}

/** The same for a failure that was thrown. */
export function refusalIn(error: unknown, sent: string | null): Refusal | null {
  if (!(error instanceof KiwiError)) return null
  const { status_code: status, headers } = error.details
  return typeof status === 'number' ? refusalOf(status, isObject(headers) ? headers : {}, sent) : null
}

export const CHECK_ADDRESS = 'Check the address and the transport of the server'

const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

function statusAdvice(status: number): { readonly hint: string; readonly retryable: boolean } {
  if (status === 401 || status === 403) {
    return { retryable: false, hint: 'Check the key in the headers of the server, and what it is good for' }
  }
  if (PASSING.has(status)) return { retryable: true, hint: 'Wait a moment and send the call again' }
  return { retryable: false, hint: CHECK_ADDRESS }
}

/** The same failure, told of the server that people know. */
export function worded(id: string, error: unknown): unknown {
  if (!(error instanceof KiwiError)) return error
  const { code, details } = error
  const message = inWords(id, error.message)
  const { status_code: status } = details
  if (code !== 'HTTP_STATUS' || typeof status !== 'number') return error.withMessage(message)
  return new KiwiError(code, message, { details, cause: error, ...statusAdvice(status) })
}

function inWords(id: string, said: string): string {
  const prefix = `Cannot use "${id}": `
  return said.startsWith(prefix) ? said : `${prefix}${said.replace(/^Cannot /, 'cannot ')}`
}
