import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HttpRequest } from '../primitives/http/request.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { createRedact } from '../shared/redact.ts'
import { renderRequest } from './render-request.ts'
import { compileRequest } from './request-template.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import { openVariables } from './variables.ts'

const ENVIRONMENT = {
  HOME: '/home/me',
  TOKEN: 'kiwi-canary-0123456789',
  USERNAME: 'ada',
  EMPTY: '',
  UNGRANTED: 'never-to-be-seen',
}
const REST: JsonObject = {
  method: 'POST',
  url: 'https://example.com/',
  timeout: 30,
  retries: 1,
  retry_delay: 1,
  retryable_statuses: [503],
  max_response_bytes: 1000,
  max_redirects: 5,
}
const item = sampleItem({ tool_id: 'tool', tool_type: 'api', executor: 'http_client' })

function render(config: JsonObject, parameters: JsonObject = {}) {
  const names = ['TOKEN', 'USERNAME', 'EMPTY', 'UNSET']
  const variables = openVariables(
    { item, secrets: new Set(names), digest: 'h' },
    {
      environment: ENVIRONMENT,
      values: new Map(Object.entries(ENVIRONMENT)),
      grants: names.map((secret) => ({ tool: 'tool', digest: 'h', secret, sink: null })),
      projectPath: '/project',
    },
  )
  const template = compileRequest({ ...REST, ...config }, new Set(Object.keys(parameters)))
  return { ...renderRequest(template, parameters, variables, null), secrets: variables.secrets }
}
const requestOf = (config: JsonObject, parameters?: JsonObject): HttpRequest =>
  render(config, parameters).request
const bodyOf = (config: JsonObject, parameters?: JsonObject): unknown => requestOf(config, parameters).body

test('P6: everything in its place', () => {
  const config = { url: 'https://example.com/{a}?b={b}', headers: { 'X-A': '{a}' }, body: { a: '{a}' } }
  expect(requestOf(config, { a: 'x', b: 'y z' })).toEqual({
    method: 'POST',
    url: 'https://example.com/x?b=y%20z',
    headers: { 'x-a': 'x', 'content-type': 'application/json' },
    body: '{"a":"x"}',
    timeoutMs: 30_000,
    retries: 1,
    retryDelayMs: 1000,
    retryableStatuses: [503],
    isIdempotent: null,
    maxResponseBytes: 1000,
    maxRedirects: 5,
  })
})

describe('P6: bodies', () => {
  test.each<[string, JsonValue]>([
    ['a number', 3],
    ['a truth value', false],
    ['a list', [1, 'a', null]],
    ['an object', { deep: { er: true } }],
    ['null', null],
    ['a text', 'x "y" {z} ${HOME}'],
  ])('a string that is exactly {param} keeps its type: %s', (_, value) => {
    expect(JSON.parse(String(bodyOf({ body: { at: [{ v: '{v}' }] } }, { v: value })))).toEqual({
      at: [{ v: value }],
    })
  })

  test('inside a longer text a parameter is text', () => {
    expect(bodyOf({ body: { v: 'n={v}', w: ' {v}' } }, { v: 3 })).toBe('{"v":"n=3","w":" 3"}')
    expect(bodyOf({ body: { v: 'o={v}' } }, { v: { a: 1 } })).toBe('{"v":"o={\\"a\\":1}"}')
  })

  test('keys are fixed, unknown words stay, and what holds no parameter is sent as it is', () => {
    expect(bodyOf({ body: { '{k}': '{unknown}', n: null, f: 1.5 } }, { k: 'evil' })).toBe(
      '{"{k}":"{unknown}","n":null,"f":1.5}',
    )
  })

  test('a parameter that was not given is null', () => {
    const template = compileRequest({ ...REST, body: { a: '{a}', b: 'x{b}' } }, new Set(['a', 'b']))
    const variables = openVariables(
      { item, secrets: new Set(), digest: 'h' },
      { environment: {}, values: new Map(), grants: [], projectPath: null },
    )
    expect(renderRequest(template, {}, variables, true).request).toMatchObject({
      body: '{"a":null,"b":"x"}',
      isIdempotent: true,
    })
  })

  test('variables are filled in, and an unset one is empty', () => {
    expect(bodyOf({ body: { t: '${TOKEN}', u: 'a${UNSET}b', d: '${UNSET:-d}' } })).toBe(
      `{"t":"${ENVIRONMENT.TOKEN}","u":"ab","d":"d"}`,
    )
  })

  test.each<[string, JsonObject]>([
    ['no body', {}],
    ['a body of null', { body: null }],
    ['a body that is a parameter without value', { body: '{v}' }],
  ])('%s sends none and says no type', (_, config) => {
    const { body, headers } = requestOf(config, { v: null })
    expect(body).toBeNull()
    expect(headers).toEqual({})
  })

  test('the content type that is given decides', () => {
    const form = {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: { a: '{v}', list: [1], on: true },
    }
    expect(requestOf(form, { v: 'x&admin=1 ü' })).toMatchObject({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=x%26admin%3D1+%C3%BC&list=%5B1%5D&on=true',
    })
    expect(bodyOf({ headers: { 'content-type': 'text/plain' }, body: 'Hi {v}' }, { v: '"x"' })).toBe('Hi "x"')
    expect(bodyOf({ headers: { 'content-type': 'application/xml' }, body: '<a>{v}</a>' }, { v: 1 })).toBe(
      '<a>1</a>',
    )
    expect(bodyOf({ headers: { 'content-type': 'application/vnd.api+json' }, body: { v: 1 } })).toBe(
      '{"v":1}',
    )
  })

  test('a text of the manifest that is JSON is sent as it is, byte for byte', () => {
    expect(bodyOf({ body: '{"id": 9007199254740993}' })).toBe('{"id": 9007199254740993}')
    expect(bodyOf({ body: '{"n": ${UNSET:-5}}' })).toBe('{"n": 5}')
    expect(bodyOf({ body: 'plain {v}' }, { v: 'text' })).toBe('"plain text"')
  })

  test.each<JsonValue>(['123', 'true', '{"a": 1}', '"x"', 123, { a: 1 }, [true]])(
    'a body that is a parameter keeps its type, also when its text reads like JSON: %j',
    (v) => {
      expect(JSON.parse(String(bodyOf({ body: '{v}' }, { v })))).toEqual(v)
    },
  )

  test('a parameter inside JSON text stays one value', () => {
    const attack = '","admin":true,"x":"'
    expect(JSON.parse(String(bodyOf({ body: '{"name": "{v}", "n": [1, "{v}!"]}' }, { v: attack })))).toEqual({
      name: attack,
      n: [1, `${attack}!`],
    })
  })

  test('N3: outside of quotes a parameter is its own value, and inside them no way out of the text', () => {
    const body = '{"count": {n}, "list": [{n},{o}], "text": "{v}", "said": "\\"{v}\\" {n}"}'
    const given = { n: 1, o: { deep: [null] }, v: '", "admin": true, "x": "' }
    expect(JSON.parse(String(bodyOf({ body }, given)))).toEqual({
      count: 1,
      list: [1, { deep: [null] }],
      text: given.v,
      said: `"${given.v}" 1`,
    })
    expect(bodyOf({ body: '{"n": {n}}' }, { n: '1, "admin": true' })).toBe('{"n":"1, \\"admin\\": true"}')
  })

  test.each(['{"a": {v}', '[{v},]', '{a: "{v}"}', '{"n": ${HOME}, "v": "{v}"}', '{"a": "{v}" "}'])(
    'N3: JSON with parameters that cannot be read is refused: %s',
    (body) => {
      expect(() => bodyOf({ body }, { v: 'x' })).toThrow(
        expect.objectContaining({ code: 'INVALID_CONFIG', hint: expect.stringContaining('object') }),
      )
    },
  )

  test('N3: what fills a form text stays one value', () => {
    const form = (body: JsonValue, v: JsonValue): unknown =>
      bodyOf({ headers: { 'Content-Type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' }, body }, { v })
    expect(form('user={v}&role=guest', 'x&role=admin')).toBe('user=x%26role%3Dadmin&role=guest')
    expect(form('t=${TOKEN}&n={v}', 5)).toBe(`t=${ENVIRONMENT.TOKEN}&n=5`)
    expect(form('h=${HOME}&n={v}', 'ü \uD800')).toBe('h=%2Fhome%2Fme&n=%C3%BC+%EF%BF%BD')
    expect(form('{v}', { a: 'x&y' })).toBe('a=x%26y')
    expect(form('{v}', 'a=1&b=2')).toBe('a=1&b=2')
  })

  test('P6, N3: each line of JSON is a value of its own, and a parameter stays one within it', () => {
    const headers = { 'Content-Type': 'application/x-ndjson' }
    const v = 'x", "admin": true, "y": "\n'
    const line = `{"t":${JSON.stringify(v)},"n":1}\n`
    expect(bodyOf({ headers, body: '{"index":{}}\n{"t": "{v}", "n": 1}\n' }, { v })).toBe(
      `{"index":{}}\n${line}`,
    )
    expect(bodyOf({ headers, body: [{ index: {} }, { t: '{v}', n: 1 }] }, { v })).toBe(
      `{"index":{}}\n${line}`,
    )
    expect(() => bodyOf({ headers, body: 'not JSON {v}' }, { v })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG' }),
    )
  })

  test.each([
    'application/x-amz-json-1.1',
    'application/json-rpc',
    'application/ld+json',
    'application/json, x',
  ])('N3: %s is JSON, so a parameter adds no keys', (type) => {
    const body = '{"text": "{v}", "role": "guest"}'
    const sent = bodyOf({ headers: { 'Content-Type': type }, body }, { v: 'x", "admin": true, "y": "' })
    expect(Object.keys(JSON.parse(String(sent)))).toEqual(['text', 'role'])
  })

  test('N3: whatever a parameter holds, the body has the keys of the manifest and its value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (v) => {
        const value: JsonValue = JSON.parse(JSON.stringify(v))
        const whole: unknown = JSON.parse(
          String(bodyOf({ body: { a: '{v}', b: ['${HOME}'] } }, { v: value })),
        )
        expect(whole).toEqual({ a: value, b: ['/home/me'] })
      }),
    )
  })
})

describe('headers', () => {
  test('are filled with parameters and variables', () => {
    expect(
      requestOf({ headers: { 'X-A': 'a={v}', 'X-B': '${HOME}', 'X-C': '${TOKEN}' } }, { v: 1 }).headers,
    ).toEqual({
      'x-a': 'a=1',
      'x-b': '/home/me',
      'x-c': ENVIRONMENT.TOKEN,
    })
  })

  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\rb', 'a\0b'])(
    'SSRF-07: a value with a line break is refused: %j',
    (v) => {
      expect(() => render({ headers: { 'X-A': 'x {v}' } }, { v })).toThrow(
        expect.objectContaining({
          code: 'INVALID_PARAMETERS',
          details: { missing: [], invalid: [{ name: 'x-a', reason: 'holds a line break' }] },
        }),
      )
    },
  )

  test('ENV-01: a parameter is never resolved as a variable', () => {
    expect(requestOf({ headers: { 'X-A': '{v}' } }, { v: '${TOKEN}' }).headers['x-a']).toBe('${TOKEN}')
  })
})

describe('P7: credentials', () => {
  const basic = Buffer.from(`ada:${ENVIRONMENT.TOKEN}`).toString('base64')

  test.each<[string, JsonObject | string, Readonly<Record<string, string>>]>([
    ['bearer', { type: 'bearer', token: '${TOKEN}' }, { authorization: `Bearer ${ENVIRONMENT.TOKEN}` }],
    ['bearer by default', { token: '${TOKEN}' }, { authorization: `Bearer ${ENVIRONMENT.TOKEN}` }],
    [
      'basic',
      { type: 'basic', username: '${USERNAME}', password: '${TOKEN}' },
      { authorization: `Basic ${basic}` },
    ],
    ['basic without a password', { type: 'basic', username: 'ada' }, { authorization: 'Basic YWRhOg==' }],
    ['api_key', { type: 'api_key', key: '${TOKEN}' }, { 'x-api-key': ENVIRONMENT.TOKEN }],
    [
      'api_key in another header',
      { type: 'api_key', key: '${TOKEN}', header: 'X-Own' },
      { 'x-own': ENVIRONMENT.TOKEN },
    ],
    ['a text', 'Token ${TOKEN}', { authorization: `Token ${ENVIRONMENT.TOKEN}` }],
  ])('%s', (_, auth, headers) => {
    const { request, warnings } = render({ auth })
    expect(request.headers).toEqual(headers)
    expect(warnings).toEqual([])
  })

  test('they override a header of the same name', () => {
    expect(requestOf({ headers: { Authorization: 'mine' }, auth: { token: '${TOKEN}' } }).headers).toEqual({
      authorization: `Bearer ${ENVIRONMENT.TOKEN}`,
    })
  })

  test.each<[string, JsonObject | string]>([
    ['bearer', { token: '${UNSET:-}' }],
    ['bearer', { type: 'bearer' }],
    ['basic', { type: 'basic' }],
    ['api_key', { type: 'api_key', key: '${EMPTY:-}' }],
    ['raw', '${UNSET:-}'],
  ])('empty ones send no header and are reported: %s', (kind, auth) => {
    const { request, warnings } = render({ auth })
    expect(request.headers).toEqual({})
    expect(warnings).toEqual([`auth "${kind}" is empty: no credentials were sent`])
  })

  test('RED-01: what was sent can be taken out of what comes back, also the pair of basic', () => {
    const { request, secrets } = render({
      auth: { type: 'basic', username: '${USERNAME}', password: '${TOKEN}' },
    })
    const echoed = `you sent ${request.headers['authorization']}, that is ${ENVIRONMENT.TOKEN}`
    const shown = JSON.stringify(createRedact(secrets)(echoed))
    expect(shown).not.toContain(basic)
    expect(shown).not.toContain(ENVIRONMENT.TOKEN)
    expect(shown).toContain('[REDACTED:authorization]')
  })
})

describe('P5: where nothing may be missing', () => {
  const places: readonly [string, (text: string) => JsonObject][] = [
    ['url', (text) => ({ url: `https://example.com/${text}` })],
    ['headers', (text) => ({ headers: { 'X-A': text } })],
    ['auth', (text) => ({ auth: text })],
    ['the token of auth', (text) => ({ auth: { token: text } })],
  ]

  test.each(places)('%s: a variable that is unset or empty is refused', (_, into) => {
    for (const name of ['UNSET', 'EMPTY']) {
      expect(() => render(into(`\${${name}}`))).toThrow(
        expect.objectContaining({ code: 'MISSING_SECRET', details: { name } }),
      )
    }
  })

  test.each(places)('ENV-02: %s: a variable without a grant is refused before any request', (_, into) => {
    expect(() => render(into('${UNGRANTED}'))).toThrow(
      expect.objectContaining({
        code: 'SECRET_NOT_GRANTED',
        message: 'Cannot run "tool": it asks for UNGRANTED without a grant',
        details: expect.objectContaining({ required: { tool: 'tool', hash: 'h', names: ['UNGRANTED'] } }),
      }),
    )
  })

  test('ENV-02: a body asks for grants, too', () => {
    expect(() => render({ body: ['${UNGRANTED}'] })).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })
})
