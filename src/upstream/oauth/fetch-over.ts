import { destinationOf } from '../../primitives/http/egress-guard.ts'
import type { HttpClient } from '../../primitives/http/http-client.ts'
import type { Problem } from '../../primitives/http/result.ts'
import { errorOf } from '../../primitives/http/result.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { Stop } from '../../shared/stop.ts'
import { textOf } from '../../shared/template.ts'

/** `fetch` as the SDK calls it, over the one way out: the same guard for every address that data names. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const TIMEOUT_MS = 15_000
/** Metadata and tokens are small. */
const MOST_BYTES = 256 * 1024
const MOST_REDIRECTS = 3

export function fetchOver(httpClient: HttpClient, signal?: Stop): Fetch {
  return async (url, init = {}) => {
    const { method = 'GET', body } = init
    const { success, status_code, failure, error, headers, ...result } = await httpClient.request(
      {
        method,
        url: String(url),
        headers: Object.fromEntries(new Headers(init.headers)),
        body: body === undefined || body === null ? null : bodyText(body),
        timeoutMs: TIMEOUT_MS,
        retries: 0,
        retryDelayMs: 0,
        retryableStatuses: [],
        // A code or a refresh token is used up by the first request that arrives.
        isIdempotent: null,
        maxResponseBytes: MOST_BYTES,
        maxRedirects: method === 'GET' ? MOST_REDIRECTS : 0,
      },
      signal,
    )
    if (!success && failure !== 'status' && failure !== 'redirect') {
      // Whether a code was used up can be told by nobody: in any case it is asked for anew.
      const reason = failure === 'outcome_unknown' ? 'connection' : (failure ?? 'protocol')
      throw refused(new URL(url), { failure: reason, error: error ?? '' })
    }
    const isEmpty = status_code === 204 || status_code === 304
    return new Response(isEmpty ? null : textOf(result.body), {
      status: status_code,
      headers: plain(headers),
    })
  }
}

/** Who gives logins is said by the server: only a person can say that it may be there. */
function refused(url: URL, { failure, error }: Problem): KiwiError {
  if (failure !== 'egress_denied') return errorOf({ failure, error })
  const { host, port } = destinationOf(url)
  return new KiwiError('EGRESS_DENIED', error, {
    hint: `If the login may be given there, the person writes "allow_hosts": ["${host}:${port}"] into their kiwi.json`,
  })
}

function bodyText(body: NonNullable<RequestInit['body']>): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body)
  throw new KiwiError('INTERNAL', 'Cannot send the login: its body is of an unknown kind')
}

/** The body was taken apart already. */
function plain(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !/^(?:content-(?:encoding|length)|transfer-encoding)$/.test(name),
    ),
  )
}
