import { expect, test } from 'vitest'
import { readWholeNumber } from './whole-number.ts'

test.each([
  ['0', 0],
  ['7717', 7717],
  ['007', 7],
])('%j is %d', (text, number) => {
  expect(readWholeNumber(text)).toBe(number)
})

test.each(['', ' ', 'abc', '-1', '+1', '1.5', '1e3', '0x50', ' 1', '1\n', '\u0661', '9'.repeat(20)])(
  '%j is no whole number',
  (text) => {
    expect(readWholeNumber(text)).toBeNull()
  },
)
