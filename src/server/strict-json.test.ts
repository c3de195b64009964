import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import { findJsonFault } from './strict-json.ts'

test.each<[string, ReturnType<typeof findJsonFault>]>([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', null],
  ['{"a":1,"a":2}', 'duplicate_key'],
  ['{"a":1,"\\u0061":2}', 'duplicate_key'],
  ['{"x":{"b":[1,{"c":0,"c":1}]}}', 'duplicate_key'],
  ['{"a":"a","b":"a:\\"a\\"","c":"{\\"a\\":1,\\"a\\":2}"}', null],
  ['["a","a"]', null],
  ['{"a":"b","b":"a"}', null],
  ['{"a\\\\":1,"a":2}', null],
  ['{"\\uD800":1,"\\uD800":2}', 'duplicate_key'],
  ['"', null],
  ['{"a', null],
  ['{"\\x":1,"\\x":2}', 'duplicate_key'],
  ['', null],
])('HTTP-13: %s: %s', (text, fault) => {
  expect(findJsonFault(text)).toBe(fault)
})

test('PAR-02: nesting is bounded before anything is parsed, brackets in texts do not count', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  expect(findJsonFault(nested(LIMITS.nesting))).toBeNull()
  expect(findJsonFault(nested(LIMITS.nesting + 1))).toBe('too_deep')
  expect(findJsonFault(nested(1_000_000))).toBe('too_deep')
  expect(findJsonFault(JSON.stringify({ a: '['.repeat(1000) }))).toBeNull()
})

test('what JSON.stringify writes never has a fault, and a doubled key always has', () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 }), { minKeys: 1 })
  fc.assert(
    fc.property(value, (object) => {
      const text = JSON.stringify(object)
      expect(findJsonFault(text)).toBeNull()
      const [first = ''] = Object.keys(object)
      expect(findJsonFault(`${text.slice(0, -1)},${JSON.stringify(first)}:0}`)).toBe('duplicate_key')
    }),
  )
})
