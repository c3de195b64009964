import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { convertParameters, convertText } from './convert-text.ts'

test.each([
  ['3', 'integer', 3],
  ['3.5', 'integer', '3.5'],
  ['9007199254740993', 'integer', '9007199254740993'],
  [' -1e3 ', 'number', -1000],
  ['1e400', 'number', '1e400'],
  ['0x10', 'number', '0x10'],
  ['', 'number', ''],
  ['true', 'boolean', true],
  ['yes', 'boolean', 'yes'],
  ['["a",1]', 'array', ['a', 1]],
  ['{"a":1}', 'array', '{"a":1}'],
  ['{"a":1}', 'object', { a: 1 }],
  ['null', 'null', null],
  ['3', 'string', '3'],
])('D11: %j for %s is %j', (text, type, value) => {
  expect(convertText(text, [type])).toEqual(value)
})

test('D11: what may be a text stays one, and what the schema does not know stays as it is', () => {
  const properties = { a: { type: ['integer', 'string'] }, b: { type: ['integer', 'null'] }, c: {}, d: true }
  const given = { a: '1', b: '1', c: '1', d: '1', e: '1', f: 2 }
  expect(convertParameters(given, { properties })).toEqual({ ...given, b: 1 })
  expect(convertParameters({ toString: '1' }, {})).toEqual({ toString: '1' })
})

test('D11: a value written as JSON comes back as it was', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer(), fc.boolean(), fc.array(fc.jsonValue()), fc.constant(null)),
      (value) => {
        const types = ['integer', 'boolean', 'array', 'null']
        expect(convertText(JSON.stringify(value), types)).toEqual(JSON.parse(JSON.stringify(value)))
      },
    ),
  )
})
