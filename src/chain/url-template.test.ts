import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../shared/json.ts'
import { compileUrl, renderUrl } from './url-template.ts'

type Parameters = Readonly<Record<string, JsonValue>>

function render(
  source: string,
  parameters: Parameters = {},
  variables: Readonly<Record<string, string>> = {},
): string {
  const names = new Set(Object.keys(parameters))
  return renderUrl(compileUrl(source, names), {
    parameter: (name) => parameters[name],
    variable: ({ name }) => variables[name] ?? '',
  })
}
const invalidConfig = expect.objectContaining({ code: 'INVALID_CONFIG' })

describe('P6: parameters are encoded for the place they stand in', () => {
  test.each<[string, Parameters, string]>([
    ['https://api.test/v1/{id}', { id: 'a b' }, 'https://api.test/v1/a%20b'],
    ['https://api.test/v1/{id}/x', { id: 'a/b' }, 'https://api.test/v1/a%2Fb/x'],
    ['https://api.test/{id}', { id: '?admin=1#x' }, 'https://api.test/%3Fadmin%3D1%23x'],
    ['https://api.test/{id}.json', { id: 7 }, 'https://api.test/7.json'],
    [
      'https://api.test/s?q={q}&n={n}',
      { q: 'a&b=c#d', n: true },
      'https://api.test/s?q=a%26b%3Dc%23d&n=true',
    ],
    ['https://api.test/s?q={q}', { q: '' }, 'https://api.test/s?q='],
    ['https://api.test/s?q={q}', { q: '..' }, 'https://api.test/s?q=..'],
    ['https://api.test?q={q}', { q: 'Zürich' }, 'https://api.test?q=Z%C3%BCrich'],
    ['https://api.test/s?f={f}', { f: { a: [1] } }, 'https://api.test/s?f=%7B%22a%22%3A%5B1%5D%7D'],
    ['https://api.test/x#{part}', { part: 'a b' }, 'https://api.test/x#a%20b'],
    ['https://api.test/{a}{b}', { a: '.', b: 'x' }, 'https://api.test/.x'],
    ['https://api.test/{file}', { file: '..hidden' }, 'https://api.test/..hidden'],
    ['https://api.test/{file}', { file: 'a.b..c' }, 'https://api.test/a.b..c'],
    ['https://api.test/%zz/{id}%zz', { id: 'a' }, 'https://api.test/%zz/a%zz'],
    ['https://api.test/{unknown}', {}, 'https://api.test/{unknown}'],
  ])('%s with %j', (source, parameters, expected) => {
    expect(render(source, parameters)).toBe(expected)
  })

  test('ENV-01: a parameter is never resolved as a variable', () => {
    expect(render('http://127.0.0.1:1/?q={q}', { q: '${AWS_SECRET}' }, { AWS_SECRET: 'canary' })).toBe(
      'http://127.0.0.1:1/?q=%24%7BAWS_SECRET%7D',
    )
  })

  test('a variable may hold the base of the address', () => {
    expect(render('${BASE}/items/{id}', { id: 'a/b' }, { BASE: 'https://api.test/v2' })).toBe(
      'https://api.test/v2/items/a%2Fb',
    )
  })
})

describe('P5: a variable in the query is a value there', () => {
  const variables = { K: 'a+b&c#d ü', PAGE: '2', SIGNED: 'v=1&sig=a%2Bb' }
  test.each([
    ['https://api.test/?k=${K}&a=1', 'https://api.test/?k=a%2Bb%26c%23d%20%C3%BC&a=1'],
    ['https://api.test/?k=x-${K}', 'https://api.test/?k=x-a%2Bb%26c%23d%20%C3%BC'],
    ['https://api.test/?page=${PAGE}', 'https://api.test/?page=2'],
    ['https://api.test/?${SIGNED}', 'https://api.test/?v=1&sig=a%2Bb'],
    ['https://api.test/?a=1&${SIGNED}', 'https://api.test/?a=1&v=1&sig=a%2Bb'],
  ])('%s', (source, expected) => {
    expect(render(source, {}, variables)).toBe(expected)
  })
})

describe('P6: a part of the path that would vanish is refused', () => {
  test.each<[string, Parameters, string]>([
    ['https://api.test/items/{id}', { id: '../admin' }, '".."'],
    ['https://api.test/items/{id}', { id: '..' }, '".."'],
    ['https://api.test/items/{id}', { id: '.' }, '"."'],
    ['https://api.test/items/{id}', { id: '' }, 'empty'],
    ['https://api.test/items/{id}/sub', { id: '' }, 'empty'],
    ['https://api.test/items/{id}', { id: null }, 'empty'],
    ['https://api.test/items/{id}?x=1', { id: '..' }, '".."'],
    ['https://api.test/items/{id}#x', { id: '..' }, '".."'],
    ['https://api.test/items/{id}', { id: '..\\admin' }, '".."'],
    ['https://api.test/items/{id}', { id: 'a/../../b' }, '".."'],
    ['https://api.test/items/{id}', { id: 'a/./b' }, '"."'],
    ['https://api.test/items/.{id}', { id: '.' }, '".."'],
    ['https://api.test/items/%2e{id}', { id: '.' }, '".."'],
    ['https://api.test/items/{id}%2E', { id: '.' }, '".."'],
    ['https://api.test/items/{id}{more}', { id: '.', more: '.' }, '".."'],
    ['https://api.test/items\\{id}', { id: '..' }, '".."'],
    ['${BASE}/{id}', { id: '..' }, '".."'],
  ])('%s with %j', (source, parameters, part) => {
    expect(() => render(source, parameters, { BASE: 'https://api.test' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        message: expect.stringContaining(part),
        details: { missing: [], invalid: [expect.objectContaining({ name: 'id' })] },
      }),
    )
  })

  test('half a character cannot be sent, and is no fault of ours', () => {
    for (const source of ['https://api.test/{id}', 'https://api.test/?q={id}']) {
      expect(() => render(source, { id: 'a\uD800' })).toThrow(
        expect.objectContaining({ code: 'INVALID_PARAMETERS' }),
      )
    }
  })
})

describe('SSRF-05: the host is written in the manifest', () => {
  test.each([
    'https://{x}/a',
    'https://{x}',
    'https://api.corp{x}',
    'https://api.corp{x}/a',
    'https://{x}.api.corp/a',
    'https://{x}@api.corp/a',
    'https://user:{x}@api.corp/a',
    'https://api.corp:{x}/a',
    '{x}://api.corp/a',
    '{x}',
    '{x}/a',
    '${BASE}{x}',
    'https:{x}',
    'https:\\\\{x}',
  ])('"%s" lets a parameter choose, and is refused when it is compiled', (source) => {
    expect(() => compileUrl(source, new Set(['x']))).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('{x} would choose the host'),
      }),
    )
  })

  test.each([
    'https://good.com@127.0.0.1/{x}',
    'https://user:pass@api.corp/',
    'https:///{x}/a',
    'https:/{x}/a',
    '//{x}/a',
    '/{x}/a',
    'api.corp/{x}',
    'not an address',
    'https://',
    '',
  ])('"%s" names no host of its own, and is refused when it is compiled', (source) => {
    expect(() => compileUrl(source, new Set(['x']))).toThrow(invalidConfig)
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['${BASE}/{x}', { BASE: 'https://good.com@127.0.0.1' }],
    ['${BASE}/{x}', { BASE: 'not an address' }],
    ['${SCHEME}://{x}/a', { SCHEME: 'https' }],
    ['http${S}://api.corp{x}', { S: 's' }],
  ])('"%s" with %j is refused when it is filled in', (source, variables) => {
    expect(() => render(source, { x: '.evil.test' }, variables)).toThrow(invalidConfig)
  })

  test('no value of a parameter changes the origin, and none adds a part to the path or the query', () => {
    const templates = [
      'https://api.corp/a/{x}',
      'https://api.corp/a/{x}/b?c={y}',
      'https://api.corp:8443/{x}{y}',
      'https://api.corp?q={x}#{y}',
      'http://127.0.0.1:99/v-{x}.json?a=1&b={y}',
      '${BASE}/a/{x}?b={y}',
      'http${S}://api.corp{x}',
    ]
    const nasty = fc.constantFrom(
      '@evil.test',
      '//evil.test/',
      '\\\\evil.test',
      '..',
      '/../',
      ':80',
      '.evil.test',
      '\t',
      '%2e',
      '?',
      '#',
      '&',
    )
    const values = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(nasty, { maxLength: 4 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(fc.constantFrom(...templates), values, values, (source, x, y) => {
        const variables = { BASE: 'https://api.corp/v2', S: 's' }
        const plain = new URL(render(source.replaceAll('{x}', '').replaceAll('{y}', ''), {}, variables))
        let url: URL
        try {
          url = new URL(render(source, { x, y }, variables))
        } catch (error) {
          expect(['INVALID_PARAMETERS', 'INVALID_CONFIG']).toContain(
            error instanceof Error && 'code' in error ? error.code : error,
          )
          return
        }
        expect(url.origin).toBe(plain.origin)
        expect([url.username, url.password]).toEqual(['', ''])
        expect(url.pathname.split('/').length).toBe(plain.pathname.split('/').length)
        expect([...url.searchParams.keys()]).toEqual([...plain.searchParams.keys()])
      }),
      { numRuns: 500 },
    )
  })
})
