import { expect, test } from 'vitest'
import { readRate } from './rate-text.ts'

test('H8: a rate is a count in a second, a minute, an hour or a day', () => {
  expect(readRate('3/second')).toEqual({ count: 3, windowMs: 1000, per: 'principal' })
  expect(readRate('100/minute')).toEqual({ count: 100, windowMs: 60_000, per: 'principal' })
  expect(readRate('5/hour')).toEqual({ count: 5, windowMs: 3_600_000, per: 'principal' })
  expect(readRate('999999/day')).toEqual({ count: 999_999, windowMs: 86_400_000, per: 'principal' })
  expect(readRate('5/hour per principal')).toEqual(readRate('5/hour'))
  expect(readRate('5/hour per session')).toEqual({ count: 5, windowMs: 3_600_000, per: 'session' })
})

test.each([
  '',
  '100',
  '0/minute',
  '-1/minute',
  '1.5/minute',
  '1e3/minute',
  '1000000/day',
  '100/minutes',
  '100/week',
  '100 / minute',
  '/minute',
  '5/minute per',
  '5/minute per tool',
  '5/minute  per session',
])('H8: "%s" is no rate', (text) => {
  expect(readRate(text)).toBeNull()
})
