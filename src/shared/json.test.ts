import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KiwiError } from './errors.ts'
import {
  assertPlain,
  canonicalJson,
  deepFreeze,
  isJsonObject,
  isObject,
  isUnsafeKey,
  sha256,
} from './json.ts'
import { LIMITS } from './limits.ts'

/** The same value with the keys of every object in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, turned(inner)]),
  )
}

const nested = (levels: number, wrap: (inner: unknown) => unknown = (inner) => ({ a: inner })): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = wrap(value)
  return value
}

const refusal = (value: unknown): unknown => {
  try {
    assertPlain(value, 'the test')
  } catch (error) {
    return error instanceof KiwiError ? { code: error.code, ...error.details } : error
  }
  return null
}

test('what JSON cannot hold is refused, wherever it stands', () => {
  for (const value of [() => 1, Symbol('a'), 1n]) {
    expect(refusal({ a: [value] })).toMatchObject({ code: 'INVALID_PARAMETERS', invalid: [{ name: 'a.0' }] })
  }
})

describe('canonical JSON', () => {
  test('T11, POI-07: equal values give equal text, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = canonicalJson(value)
        expect(canonicalJson(turned(value))).toBe(text)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('keys stand in the order of their UTF-16 units (RFC 8785, 3.2.3)', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\u{1F600}', '\u0080', '\u00f6']
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1F600}', '\ufb33']
    expect(canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])))).toBe(
      `{${sorted.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`,
    )
  })

  test('numbers and texts are written as RFC 8785 writes them', () => {
    expect(canonicalJson([Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27, -0, 1e21])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21]',
    )
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\\\"/')).toBe('"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"')
  })

  test('a key that holds nothing is left out, as in JSON; nothing in a list is null', () => {
    expect(canonicalJson({ b: undefined, a: [undefined, 1] })).toBe('{"a":[null,1]}')
    expect(canonicalJson(undefined)).toBe('null')
  })

  test('PAR-06: a key named like the prototype is a key like any other', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}')
  })
})

describe('plain data', () => {
  test('any JSON value is plain, unless a key reaches a prototype or a text holds a NUL byte', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value)
        const isUnsafe = /"(?:__proto__|constructor|prototype)":|\\u0000|\d{16}/.test(text)
        expect(refusal(value) === null || isUnsafe).toBe(true)
      }),
    )
  })

  test('PAR-13: a whole number that would not come out as it went in is refused, a power of ten is not', () => {
    expect(refusal(JSON.parse('{"id": 9007199254740993}'))).not.toBeNull()
    expect(refusal({ id: Number.MAX_SAFE_INTEGER, moles: 6.022e23, half: 0.5, none: -0 })).toBeNull()
  })

  test.each(['__proto__', 'constructor', 'prototype'])(
    'PAR-06: %s is refused as a key at any depth',
    (key) => {
      expect(isUnsafeKey(key)).toBe(true)
      for (const text of [`{"${key}":{"isAdmin":true}}`, `{"a":[{"b":{"${key}":1}}]}`]) {
        expect(refusal(JSON.parse(text))).toMatchObject({
          code: 'INVALID_PARAMETERS',
          invalid: [{ name: key }],
        })
      }
      expect(Reflect.get({}, 'isAdmin')).toBe(undefined)
      expect(refusal({ text: key, list: [key] })).toBe(null)
    },
  )

  test('PAR-02: 64 levels pass, 65 are refused, and 100 000 do not overflow the stack', () => {
    for (const wrap of [(inner: unknown) => ({ a: inner }), (inner: unknown) => [inner]]) {
      expect(refusal(nested(LIMITS.nesting, wrap))).toBe(null)
      expect(refusal(nested(LIMITS.nesting + 1, wrap))).toEqual({ code: 'TOO_DEEP' })
      expect(refusal(nested(100_000, wrap))).toEqual({ code: 'TOO_DEEP' })
    }
  })

  test.each([
    [{ a: 'x\0' }, 'a'],
    [{ a: [{ b: '\0' }] }, 'a.0.b'],
    ['\0', ''],
    [{ a: { 'b\0c': 1 } }, 'a.b\0c'],
  ])('PAR-12: the NUL byte of %j is refused by name', (value, name) => {
    expect(refusal(value)).toMatchObject({ code: 'INVALID_PARAMETERS', invalid: [{ name }] })
  })

  test.each([Number.NaN, Infinity, -Infinity])('PAR-13: %s is refused, JSON cannot hold it', (number) => {
    expect(refusal({ a: [1, number] })).toMatchObject({
      code: 'INVALID_PARAMETERS',
      invalid: [{ name: 'a.1' }],
    })
  })
})

describe('deepFreeze', () => {
  test('nothing inside can be changed, and the value is the same one', () => {
    const value = { a: { b: [{ c: 1 }] }, text: 'x', none: null }
    expect(deepFreeze(value)).toBe(value)
    expect([value, value.a, value.a.b, value.a.b[0]].every((part) => Object.isFrozen(part))).toBe(true)
    expect(() => Object.assign(value.a, { b: 2 })).toThrow(TypeError)
  })

  test('bytes are left alone: they cannot be frozen', () => {
    const value = { bytes: new Uint8Array([1, 2]) }
    expect(deepFreeze(value).bytes).toEqual(new Uint8Array([1, 2]))
    expect(Object.isFrozen(value)).toBe(true)
  })
})

test('an object is neither a list nor nothing', () => {
  expect([{}, [], null, 'a', 1, undefined].map((value) => isObject(value))).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ])
  expect(isJsonObject({ a: 1 })).toBe(true)
  expect(isJsonObject([1])).toBe(false)
})

test('a hash is SHA-256 in hexadecimal, of text as of its bytes', () => {
  const known = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(sha256('abc')).toBe(known)
  expect(sha256(Buffer.from('abc'))).toBe(known)
})
