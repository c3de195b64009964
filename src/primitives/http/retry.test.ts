import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { HttpFailure } from './result.ts'
import { retryDelay } from './retry.ts'
import { requestTo } from '../../../test/fixtures/loopback-server.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const clock = { now: () => NOW, monotonic: () => 0 }
const request = requestTo('https://api.test', { retryDelayMs: 1000 })
const once = { isIdempotent: false, isFollowed: false }
const repeatable = { isIdempotent: true, isFollowed: false }
const status = (code: number, retryAfter?: string) => ({ status: code, retryAfter, problem: null })
const problem = (failure: HttpFailure) => ({
  status: 0,
  retryAfter: undefined,
  problem: { failure, error: '' },
})
const means = (count = 1, random = 1) => ({ count, clock, random: () => random })

test('N8: the delay doubles, is drawn from the whole span, and ends at 30 s', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((count) =>
    retryDelay(request, repeatable, status(503), means(count)),
  )
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  expect(retryDelay(request, repeatable, status(503), means(3, 0.25))).toBe(1000)
  fc.assert(
    fc.property(fc.nat(2000), fc.double({ min: 0, max: 1, noNaN: true }), (count, random) => {
      const delay = retryDelay(request, repeatable, status(503), means(count + 1, random))
      return delay !== null && delay >= 0 && delay <= Math.min(30_000, 1000 * 2 ** count)
    }),
  )
})

test('N8: Retry-After is obeyed, as seconds or as a date', () => {
  expect(retryDelay(request, repeatable, status(503, '7'), means())).toBe(7000)
  expect(retryDelay(request, repeatable, status(503, '120'), means())).toBe(120_000)
  expect(retryDelay(request, repeatable, status(429, 'Thu, 01 Jan 2026 00:00:05 GMT'), means())).toBe(5000)
  expect(retryDelay(request, repeatable, status(429, 'Wed, 31 Dec 2025 00:00:05 GMT'), means())).toBe(0)
  expect(retryDelay(request, repeatable, status(429, 'Thursday, 01-Jan-26 00:00:05 GMT'), means())).toBe(5000)
  expect(retryDelay(request, repeatable, status(429, 'soon'), means())).toBe(1000)
})

test('N8: a fraction of a second is obeyed, and no number is taken for a date', () => {
  expect(retryDelay(request, repeatable, status(503, '1.5'), means())).toBe(1500)
  expect(retryDelay(request, repeatable, status(503, ' 0.25 '), means())).toBe(250)
  for (const odd of ['-1', '1,5', '1.2.3', '1e3', 'May 1', '']) {
    expect(retryDelay(request, repeatable, status(503, odd), means()), odd).toBe(1000)
  }
})

test('P8: listed statuses, timeouts and connection errors are tried again; nothing else is', () => {
  expect(retryDelay(request, repeatable, status(500), means())).toBeNull()
  expect(retryDelay(request, repeatable, status(404), means())).toBeNull()
  const again = (['connection', 'dns', 'timeout'] as const).map((failure) =>
    retryDelay(request, repeatable, problem(failure), means()),
  )
  expect(again).toEqual([1000, 1000, 1000])
  const never = [
    'tls',
    'protocol',
    'too_large',
    'redirect',
    'egress_denied',
    'cancelled',
    'outcome_unknown',
  ] as const
  for (const failure of never) expect(retryDelay(request, repeatable, problem(failure), means())).toBeNull()
})

test('SSRF-11: what is not idempotent waits for a 429 or 503 that says when', () => {
  expect(retryDelay(request, once, status(503), means())).toBeNull()
  expect(retryDelay(request, once, status(502, '1'), means())).toBeNull()
  expect(retryDelay(request, once, status(503, '1'), means())).toBe(1000)
  expect(retryDelay(request, once, status(429, '2'), means())).toBe(2000)
  expect(retryDelay(request, once, status(429, 'soon'), means())).toBeNull()
  expect(retryDelay(request, once, problem('connection'), means())).toBe(1000)
})

test('N16: what was answered with a redirect and is not idempotent is never begun again', () => {
  const followed = { isIdempotent: false, isFollowed: true }
  expect(retryDelay(request, followed, status(503, '1'), means())).toBeNull()
  expect(retryDelay(request, followed, problem('connection'), means())).toBeNull()
  expect(retryDelay(request, { ...followed, isIdempotent: true }, status(503), means())).toBe(1000)
})
