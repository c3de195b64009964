import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'

test('the clock tells the time of day, and a time that never goes back', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(10_000)
  const moments = Array.from({ length: 1000 }, () => systemClock.monotonic())
  expect(moments.every((moment, at) => at === 0 || moment >= (moments[at - 1] ?? Infinity))).toBe(true)
})
