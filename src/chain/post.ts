import type { HttpClient } from '../primitives/http/http-client.ts'
import { FAILURE_CODES } from '../primitives/http/result.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Watch } from '../shared/progress.ts'

/** A message of Kiwi's own. */
export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
}

const MOST_BYTES = 64 * 1024

/** Sends it once: no redirect is followed, and what comes back is not read. */
export async function post(
  { url, headers, body, timeoutMs }: Post,
  httpClient: HttpClient,
  watch: Watch = {},
): Promise<number> {
  const request = {
    method: 'POST',
    url,
    headers,
    body,
    timeoutMs,
    retries: 0,
    retryDelayMs: 0,
    retryableStatuses: [],
    isIdempotent: false,
    maxResponseBytes: MOST_BYTES,
    maxRedirects: 0,
  }
  const { status_code, failure, error } = await httpClient.request(request, watch.signal)
  if (failure === null) return status_code ?? 0
  throw new KiwiError(
    FAILURE_CODES[failure],
    `Cannot reach "${new URL(url).host}": ${(error ?? failure).replace(/^Cannot /, 'cannot ')}`,
  )
}
