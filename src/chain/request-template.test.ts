import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { RequestTemplate } from './request-template.ts'
import { compileRequest } from './request-template.ts'

const REST: JsonObject = {
  method: 'GET',
  url: 'https://example.com/',
  timeout: 30,
  retries: 0,
  retry_delay: 1,
  retryable_statuses: [503],
  max_response_bytes: 1000,
  max_redirects: 5,
}
const compile = (config: JsonObject, ...parameters: readonly string[]): RequestTemplate =>
  compileRequest({ ...REST, ...config }, new Set(parameters))
const refused = (config: JsonObject): unknown => {
  try {
    return compile(config, 'name')
  } catch (error) {
    return error
  }
}

describe('P6: each key of the config arrives', () => {
  test.each<[JsonObject, object]>([
    [{ method: 'post' }, { method: 'POST' }],
    [{ timeout: 0.5 }, { timeoutMs: 500 }],
    [
      { retries: 2, retry_delay: 0.2 },
      { retries: 2, retryDelayMs: 200 },
    ],
    [{ retryable_statuses: [500, 'x', 429] }, { retryableStatuses: [500, 429] }],
    [
      { max_response_bytes: 9, max_redirects: 0 },
      { maxResponseBytes: 9, maxRedirects: 0 },
    ],
    [{ response_transform: '$.a' }, { transform: '$.a' }],
    [{}, { transform: null, auth: null, body: null, headers: [] }],
  ])('%j', (config, expected) => {
    expect(compile(config)).toMatchObject(expected)
  })

  test('url stands before url_template, and body before body_template', () => {
    const { url, ...rest } = REST
    expect(url).toBeDefined()
    const templates = { url_template: 'https://b.test/', body_template: { b: 1 } }
    expect(compileRequest({ ...rest, ...templates }, new Set()).url.source).toBe('https://b.test/')
    const both = compile({ ...templates, body: { a: 1 } })
    expect(both.url.source).toBe('https://example.com/')
    expect(both.body).toEqual({ kind: 'constant', value: { a: 1 } })
  })

  test('names of headers are kept in lower case', () => {
    const { headers } = compile({ headers: { 'X-Sample': 'kiwi', ACCEPT: 'text/plain', 'X-Number': 5 } })
    expect(headers.map(([name, { source }]) => [name, source])).toEqual([
      ['x-sample', 'kiwi'],
      ['accept', 'text/plain'],
      ['x-number', '5'],
    ])
  })
})

describe('SSRF-07: names of headers', () => {
  test.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'connection',
    'Upgrade',
    'TE',
    'Trailer',
    'Keep-Alive',
    'Expect',
    'Proxy-Authorization',
    'Sec-WebSocket-Key',
  ])('"%s" belongs to the connection', (name) => {
    expect(refused({ headers: { [name]: 'x' } })).toMatchObject({
      code: 'INVALID_CONFIG',
      message: `Cannot send header "${name}": the connection sets it`,
    })
    expect(refused({ auth: { type: 'api_key', key: 'k', header: name } })).toMatchObject({
      code: 'INVALID_CONFIG',
    })
  })

  test.each(['{name}', 'X-{name}', '${NAME}', 'a b', 'a:b', 'a\r\nb', 'ä', '', 'a\0'])(
    '%j is no name',
    (name) => {
      expect(refused({ headers: { [name]: 'x' } })).toMatchObject({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('it is not a header name'),
      })
    },
  )

  test('hosts and hostages are told apart', () => {
    expect(compile({ headers: { 'X-Host': 'a', 'x-te': 'b', Hostage: 'c' } }).headers.length).toBe(3)
  })
})

describe('P7: kinds of credentials', () => {
  test.each<[JsonObject | string, object]>([
    [{ token: 't' }, { type: 'bearer', token: { source: 't' } }],
    [
      { type: 'bearer', token: 't' },
      { type: 'bearer', token: { source: 't' } },
    ],
    [{ type: 'bearer' }, { type: 'bearer', token: { source: '' } }],
    [
      { type: 'basic', username: 'u', password: 'p' },
      { type: 'basic', username: { source: 'u' }, password: { source: 'p' } },
    ],
    [
      { type: 'api_key', key: 'k' },
      { type: 'api_key', key: { source: 'k' }, header: 'x-api-key' },
    ],
    [
      { type: 'api_key', key: 'k', header: 'Authorization' },
      { type: 'api_key', header: 'authorization' },
    ],
    ['Bearer ${X}', { type: 'raw', value: { source: 'Bearer ${X}' } }],
  ])('%j', (auth, expected) => {
    expect(compile({ auth }).auth).toMatchObject(expected)
  })

  test('an unknown kind is refused by name', () => {
    expect(refused({ auth: { type: 'digest' } })).toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot use auth type "digest"',
    })
  })

  test('no parameter fills credentials', () => {
    const { auth } = compile({ auth: { type: 'basic', username: '{name}', password: '{name}' } }, 'name')
    expect(auth).toMatchObject({ username: { segments: [{ kind: 'text', text: '{name}' }] } })
    expect(compile({ auth: '{name}' }, 'name').auth).toMatchObject({
      value: { segments: [{ kind: 'text' }] },
    })
  })
})

test('ENV-04: a nested variable is refused wherever it stands', () => {
  for (const text of ['${A:-${B}}', '${A:+${B}}']) {
    const places = [
      { url: `https://a.test/${text}` },
      { headers: { A: text } },
      { auth: text },
      { auth: { token: text } },
      { body: [{ a: text }] },
    ]
    for (const config of places) expect(refused(config)).toMatchObject({ code: 'INVALID_CONFIG' })
  }
})
