import { expect, test } from 'vitest'
import { nextTarget } from './redirect.ts'
import type { Target } from './request.ts'

const target = (changes: Partial<Target> = {}): Target => ({
  method: 'GET',
  url: new URL('https://api.test/v1/items?q=1'),
  headers: {
    accept: 'application/json',
    authorization: 'Bearer s3cret',
    cookie: 'a=b',
    'x-api-key': 's3cret',
    'x-anything': 's3cret',
    'content-type': 'application/json',
  },
  body: null,
  isIdempotent: true,
  isFollowed: false,
  ...changes,
})

const post = target({ method: 'POST', body: '{"a":1}', isIdempotent: false })
const follow = (from: Target, status: number, location: string): Target => {
  const next = nextTarget(from, status, location)
  if (next === null || 'failure' in next) throw new Error(`not followed: ${JSON.stringify(next)}`)
  return next
}

test('N9: other statuses are no redirects, with a Location or without', () => {
  for (const status of [200, 201, 300, 304, 305, 306, 404])
    expect(nextTarget(target(), status, '/x')).toBeNull()
})

test('P6: a target on the same origin keeps method, body and headers', () => {
  const next = follow(target({ method: 'PUT', body: 'x' }), 301, '../v2')
  expect(next.url.href).toBe('https://api.test/v2')
  expect(next).toMatchObject({ method: 'PUT', body: 'x', isFollowed: true })
  expect(next.headers).toEqual(target().headers)
  expect(follow(post, 308, '/v2')).toMatchObject({ method: 'POST', body: '{"a":1}' })
})

test('P6: 303, and 301 and 302 after POST, become GET without a body', () => {
  for (const [status, from] of [
    [301, post],
    [302, post],
    [303, post],
    [303, target({ method: 'DELETE' })],
  ] as const) {
    const next = follow(from, status, '/done')
    expect(next).toMatchObject({ method: 'GET', body: null })
    expect(Object.keys(next.headers)).not.toContain('content-type')
    expect(next.headers).toMatchObject({ authorization: 'Bearer s3cret' })
  }
  expect(follow(target({ method: 'HEAD' }), 303, '/x').method).toBe('HEAD')
})

test('P6: credentials under any name stay behind when the origin changes', () => {
  for (const location of [
    'https://other.test/',
    '//other.test/',
    'https://api.test:8443/',
    'https://API.test.evil/',
  ]) {
    const next = follow(target(), 302, location)
    expect(JSON.stringify(next.headers)).not.toMatch(/s3cret|a=b/)
    expect(next.headers).toEqual({ accept: 'application/json' })
  }
})

test('P6: another origin never gets a body or a method that changes things', () => {
  for (const from of [post, target({ method: 'PUT', body: 'x' }), target({ method: 'DELETE' })]) {
    expect(nextTarget(from, 307, 'https://other.test/')).toMatchObject({ failure: 'redirect' })
  }
  expect(follow(post, 303, 'https://other.test/')).toMatchObject({ method: 'GET', body: null })
})

test('N9: a redirect without a target, or from https to http, is a failure', () => {
  expect(nextTarget(target(), 302, undefined)).toMatchObject({ failure: 'redirect' })
  expect(nextTarget(target(), 302, 'http://')).toMatchObject({ failure: 'redirect' })
  expect(nextTarget(target(), 301, 'http://api.test/v1')).toMatchObject({
    failure: 'redirect',
    error: 'Cannot follow the redirect 301 of "api.test": it leads from https to http',
  })
})
