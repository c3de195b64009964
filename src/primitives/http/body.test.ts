import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertPlain } from '../../shared/json.ts'
import { readBody } from './body.ts'

const read = (body: string | Buffer, type = '') => readBody(Buffer.from(body), type)

test('P10: JSON if it parses, whatever the server calls it', () => {
  expect(read('{"a":[1]}', 'application/json')).toEqual({ body: { a: [1] }, body_kind: 'json' })
  expect(read(' [1,2] ', 'text/html; charset=utf-8')).toEqual({ body: [1, 2], body_kind: 'json' })
  expect(read('{"a":1}')).toEqual({ body: { a: 1 }, body_kind: 'json' })
  expect(read('"x"', 'application/json')).toEqual({ body: 'x', body_kind: 'json' })
  expect(read('null')).toEqual({ body: null, body_kind: 'json' })
  expect(read('\ufeff{"a":1}', 'application/json')).toEqual({ body: { a: 1 }, body_kind: 'json' })
})

test('P10: text that only looks like JSON stays text', () => {
  expect(read('{oops', 'application/json')).toEqual({ body: '{oops', body_kind: 'text' })
  expect(read('12345678901234567890', 'text/plain')).toEqual({
    body: '12345678901234567890',
    body_kind: 'text',
  })
  expect(read('true story')).toEqual({ body: 'true story', body_kind: 'text' })
  expect(read('hello', 'text/plain')).toEqual({ body: 'hello', body_kind: 'text' })
  expect(read('   ')).toEqual({ body: '   ', body_kind: 'text' })
})

test('P10: JSON that would come out changed stays as the service wrote it', () => {
  for (const text of ['{"id":12345678901234567890}', '[1e999]', '{"a":[{"b":-9007199254740993}]}']) {
    expect(read(text, 'application/json')).toEqual({ body: text, body_kind: 'json_text' })
  }
  for (const text of ['{"__proto__":{"a":1}}', '{"a":"\\u0000"}']) {
    expect(read(text, 'application/json')).toEqual({ body: text, body_kind: 'json_text' })
  }
  expect(read('{"id":9007199254740991,"f":0.1,"e":1e30}')).toMatchObject({ body_kind: 'json' })
})

test('P10: whatever is handed on as JSON is plain', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '\\u005f_proto__', '\\u0000'))
  const number = fc.oneof(fc.double(), fc.bigInt(), fc.constantFrom('1e17', '1E+400', '-0', '0.1e1'))
  fc.assert(
    fc.property(key, number, (name, value) => {
      const text = `{"${name.replaceAll('"', '')}": [${String(value)}]}`
      const { body, body_kind } = read(text, 'application/json')
      if (body_kind === 'json') assertPlain(body, 'body')
    }),
    { numRuns: 1000 },
  )
})

test('P10: bytes that are no text come as base64', () => {
  expect(read(Buffer.from([0xff, 0xfe, 0x01]))).toEqual({ body: '//4B', body_kind: 'base64' })
  expect(read(Buffer.from('a\0b'), 'text/plain')).toEqual({ body: 'YQBi', body_kind: 'base64' })
  expect(read(Buffer.from([0xc3, 0x28]), 'text/plain; charset=utf-8')).toMatchObject({ body_kind: 'base64' })
  expect(read(Buffer.from([0xe9]), 'text/plain; charset=nonsense')).toMatchObject({ body_kind: 'base64' })
})

test('P10: another charset is read as the server says', () => {
  expect(read(Buffer.from('Zürich', 'latin1'), 'text/plain; charset="ISO-8859-1"')).toEqual({
    body: 'Zürich',
    body_kind: 'text',
  })
})

test('P10: no body is none', () => {
  expect(read('')).toEqual({ body: null, body_kind: 'none' })
})

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

test('SSRF-10: JSON nested deeper than the limit stays text, so that nothing overflows on it', () => {
  expect(read(nested(64)).body_kind).toBe('json')
  expect(read(nested(65)).body_kind).toBe('text')
  expect(read(nested(200_000)).body_kind).toBe('text')
  const brackets = JSON.stringify({ text: '[{'.repeat(100), quote: '\\"[[' })
  expect(read(brackets)).toEqual({ body: JSON.parse(brackets), body_kind: 'json' })
  expect(read(`{"a":"\\\\","b":${nested(70)}}`).body_kind).toBe('text')
})
