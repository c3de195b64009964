import type { Clock } from '../../shared/clock.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { EgressGuard } from './egress-guard.ts'
import { HTTP_SCHEMES } from './egress-guard.ts'
import { readBody } from './body.ts'
import type { Deadline } from './deadline.ts'
import { pause } from './deadline.ts'
import type { Answer, Head, Reading } from './exchange.ts'
import { exchange } from './exchange.ts'
import { nextTarget } from './redirect.ts'
import type { HttpRequest, Target } from './request.ts'
import { checkRequest } from './request.ts'
import type { HttpResult, Problem } from './result.ts'
import { problemOf, worded } from './result.ts'
import { retryDelay } from './retry.ts'

export interface CallMeans {
  readonly guard: EgressGuard
  readonly clock: Clock
  readonly random: () => number
  readonly poolFor: (url: URL) => ConnectionPool | Promise<ConnectionPool>
}

export interface Called extends Pick<Answer, 'chunks'> {
  readonly result: HttpResult
}

/** The whole of a call: its checks, its attempts, and the redirects of each. */
export async function call(
  request: HttpRequest,
  streaming: Reading['streaming'],
  deadline: Deadline,
  means: CallMeans,
): Promise<Called> {
  const start = checkRequest(request)
  if ('failure' in start) return conclude(broken(start), 0, deadline)
  const reading: Reading = { maxBytes: request.maxResponseBytes, streaming }
  let target = start
  let count = 1
  let redirects = 0
  if (request.attemptTimeoutMs !== undefined) deadline.startAttempt(request.attemptTimeoutMs)
  while (true) {
    const sent = await send(target, reading, deadline, means)
    const next = redirectOf(sent, target, redirects++ < request.maxRedirects, request.mayReach)
    if (next !== null && 'url' in next) {
      target = next
      continue
    }
    const answer = next === null ? sent : { ...sent, problem: next }
    const isLast = count > request.retries || sent.chunks !== null || deadline.problem !== null
    const delay = isLast ? null : retryDelay(request, target, attempted(answer), { ...means, count })
    // A wait that ends after the call would only hide what the last attempt said.
    if (delay === null || delay >= deadline.remaining) return conclude(answer, count, deadline)
    deadline.endAttempt()
    await pause(delay, deadline)
    if (deadline.problem !== null) {
      return conclude({ ...answer, problem: worded(start.url.host, deadline.problem) }, count, deadline)
    }
    if (request.attemptTimeoutMs !== undefined) deadline.startAttempt(request.attemptTimeoutMs)
    target = start
    redirects = 0
    count++
  }
}

function send(
  target: Target,
  reading: Reading,
  deadline: Deadline,
  means: CallMeans,
): Answer | Promise<Answer> {
  const refused = means.guard.judgeUrl(target.url, HTTP_SCHEMES)
  if (refused !== null) return broken(problemOf(refused, target.url.host))
  const pool = means.poolFor(target.url)
  if (!(pool instanceof Promise)) return exchange(pool, target, reading, deadline)
  return pool.then((ready) => exchange(ready, target, reading, deadline))
}

function redirectOf(
  { head, problem }: Answer,
  target: Target,
  mayFollow: boolean,
  mayReach: HttpRequest['mayReach'],
): Target | Problem | null {
  if (head === null || problem !== null) return null
  const next = nextTarget(target, head.status, head.headers['location'])
  if (next === null || 'failure' in next) return next
  const { host } = target.url
  if (!mayFollow)
    return { failure: 'redirect', error: `Cannot follow "${host}": there are too many redirects` }
  const isJudged = next.url.host === host && next.method === target.method
  if (isJudged || mayReach?.(next.url.host, next.method) !== false) return next
  return {
    failure: 'redirect',
    error: `Cannot follow the redirect of "${host}": no rule lets "${next.url.host}" be reached`,
  }
}

function attempted({ head, problem }: Answer): {
  status: number
  retryAfter: string | undefined
  problem: Problem | null
} {
  const { status, headers } = head ?? NO_HEAD
  return { status, retryAfter: headers['retry-after'], problem }
}

const NO_HEAD: Head = { status: 0, reason: '', headers: {} }

function broken(problem: Problem): Answer {
  return { head: null, bytes: Buffer.alloc(0), chunks: null, problem }
}

function conclude({ head, bytes, chunks, problem }: Answer, attempts: number, deadline: Deadline): Called {
  // A stream releases it when it ends.
  if (chunks === null) deadline.release()
  else deadline.endAttempt()
  const { status, reason, headers } = head ?? NO_HEAD
  const isSuccess = problem === null && status >= 200 && status <= 299
  const { body, body_kind } = readBody(bytes, headers['content-type'] ?? '')
  const result = {
    success: isSuccess,
    status_code: status,
    body,
    body_kind,
    headers,
    duration_ms: Math.round(deadline.elapsed),
    error: isSuccess ? null : (problem?.error ?? `${status} ${reason}`.trimEnd()),
    attempts,
    failure: isSuccess ? null : (problem?.failure ?? 'status'),
  }
  return { chunks, result }
}
