import type { Target } from './request.ts'
import type { Problem } from './result.ts'

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * What goes along to another origin. A list of what is harmless, since a key can travel under any header's name.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'if-modified-since',
  'if-none-match',
  'last-event-id',
  'range',
  'user-agent',
])

const ABOUT_THE_BODY = /^content-/

/**
 * The request a redirect asks for; a problem when it is not followed; null when the status is no redirect.
 * 303, and 301 and 302 after POST, become GET without a body. Another origin gets no credentials and only GET,
 * HEAD or OPTIONS without a body: what was meant for one service is not handed to another. Never https to http.
 */
export function nextTarget(
  target: Target,
  status: number,
  location: string | undefined,
): Target | Problem | null {
  if (!REDIRECTS.has(status)) return null
  if (location === undefined || !URL.canParse(location, target.url.href)) {
    return refused(target, status, 'the answer names no target')
  }
  const url = new URL(location, target.url.href)
  if (target.url.protocol === 'https:' && url.protocol === 'http:') {
    return refused(target, status, 'it leads from https to http')
  }
  const next = { ...withMethod(target, status), url, isFollowed: true }
  if (url.origin === target.url.origin) return next
  if (next.body !== null || !/^(?:GET|HEAD|OPTIONS)$/.test(next.method)) {
    return refused(target, status, `it would hand ${next.method} to another origin`)
  }
  return { ...next, headers: keep(next.headers, (name) => HARMLESS.has(name)) }
}

function withMethod(target: Target, status: number): Target {
  const becomesGet =
    (status === 303 && target.method !== 'HEAD') || (status <= 302 && target.method === 'POST')
  if (!becomesGet) return target
  const headers = keep(target.headers, (name) => !ABOUT_THE_BODY.test(name))
  return { ...target, method: 'GET', body: null, headers }
}

function keep(headers: Target['headers'], isKept: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isKept(name)))
}

function refused(target: Target, status: number, why: string): Problem {
  return {
    failure: 'redirect',
    error: `Cannot follow the redirect ${status} of "${target.url.host}": ${why}`,
  }
}
