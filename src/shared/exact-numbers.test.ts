import { assert, jsonValue, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withExactNumbers } from './exact-numbers.ts'

const read = (json: string): unknown => JSON.parse(withExactNumbers(json))

describe('M6: numbers beyond 2^53', () => {
  test.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['[-9223372036854775808, 18446744073709551615]', ['-9223372036854775808', '18446744073709551615']],
    ['9007199254740991', 9_007_199_254_740_991],
    ['{"a":"9007199254740993","b\\"":1}', { a: '9007199254740993', 'b"': 1 }],
    ['"say \\"9007199254740993\\" twice\\\\"', 'say "9007199254740993" twice\\'],
    [
      '{"9007199254740993":0.5,"x":1234567890123456e-3}',
      { '9007199254740993': 0.5, x: 1_234_567_890_123.456 },
    ],
  ])('M6: %s', (json, value) => {
    expect(read(json)).toEqual(value)
  })

  test('M6: whatever is exact comes out as it went in', () => {
    assert(
      property(jsonValue(), (value) => {
        const json = JSON.stringify(value)
        if (!/\d{16}/.test(json)) expect(withExactNumbers(json)).toBe(json)
        const again = JSON.stringify(read(json))
        const exact = (_: string, part: unknown): unknown =>
          typeof part === 'number' && Number.isInteger(part) && !Number.isSafeInteger(part)
            ? String(part)
            : part
        expect(JSON.stringify(JSON.parse(again), exact)).toBe(JSON.stringify(value, exact))
      }),
    )
  })
})
