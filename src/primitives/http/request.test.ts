import { expect, test } from 'vitest'
import { checkRequest } from './request.ts'
import { requestTo } from '../../../test/fixtures/loopback-server.ts'

const check = (changes: Parameters<typeof requestTo>[1], url = 'https://api.test/v1?q=1') =>
  checkRequest(requestTo(url, changes))

test('P6: a request goes out with the defaults that the caller did not give', () => {
  expect(
    check({ method: 'post', headers: { Accept: 'text/plain', 'X-API-Key': 'k' }, body: '{}' }),
  ).toMatchObject({
    method: 'POST',
    body: '{}',
    headers: {
      accept: 'text/plain',
      'user-agent': 'kiwi-mcp',
      'accept-encoding': 'gzip, deflate, br',
      'x-api-key': 'k',
    },
  })
})

test.each(['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\0b', 'a\u010ab', 'snow ☃', '\x7f', '\x1b'])(
  'SSRF-07: a header value of %j is refused, and not repeated in the refusal',
  (value) => {
    const refused = check({ headers: { 'x-name': value } })
    expect(refused).toMatchObject({ failure: 'bad_request' })
    expect(JSON.stringify(refused)).not.toContain(JSON.stringify(value))
    expect(refused).toMatchObject({ error: expect.stringContaining('"x-name"') })
  },
)

test.each([
  'Host',
  'content-length',
  'Transfer-Encoding',
  'connection',
  'Upgrade',
  'te',
  'Trailer',
  'keep-alive',
  'Proxy-Authorization',
  'proxy-anything',
  'Sec-WebSocket-Key',
  'expect',
])('SSRF-07: the header %s is not for the caller to set', (name) => {
  expect(check({ headers: { [name]: 'x' } })).toMatchObject({ failure: 'bad_request' })
})

test.each(['', 'a b', 'a:b', 'a\r\nb', 'ä', 'x-a\0'])('SSRF-07: %j is no header name', (name) => {
  expect(check({ headers: { [name]: 'x' } })).toMatchObject({ failure: 'bad_request' })
})

test.each(['', 'GET /x', 'GET\r\n', 'CONNECT', 'trace'])('SSRF-07: the method %j is refused', (method) => {
  expect(check({ method })).toMatchObject({ failure: 'bad_request' })
})

test.each(['', '/path', 'api.test/x', 'http://', 'http://[fe80::1%25eth0]/', 'http://a b/'])(
  'SSRF-01: %j is no URL to ask',
  (url) => {
    expect(check({}, url)).toMatchObject({ failure: 'bad_request' })
  },
)

const isIdempotent = (changes: Parameters<typeof requestTo>[1]): unknown => {
  const target = check(changes)
  return 'isIdempotent' in target ? target.isIdempotent : target
}

test('P8: the method says what may be repeated, unless the manifest or a key says more', () => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
    expect(isIdempotent({ method })).toBe(true)
  for (const method of ['POST', 'PATCH', 'MERGE']) expect(isIdempotent({ method })).toBe(false)
  expect(isIdempotent({ method: 'POST', isIdempotent: true })).toBe(true)
  expect(isIdempotent({ method: 'GET', isIdempotent: false })).toBe(false)
  expect(isIdempotent({ method: 'POST', headers: { 'Idempotency-Key': '1' } })).toBe(true)
})
