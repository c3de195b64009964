import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openRestarts } from './restarts.ts'

test('UP-03: within any minute there are at most five restarts, and what is refused says when the next one may be', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 60 }), (steps) => {
      let now = 0
      const restarts = openRestarts({ now: () => now, monotonic: () => now })
      const times: number[] = []
      for (const step of steps) {
        now += step
        const recent = times.filter((time) => time > now - 60_000)
        expect(restarts.areTooMany).toBe(recent.length >= 5)
        if (recent.length < 5) {
          restarts.add('s', null)
          times.push(now)
          continue
        }
        const wait = Math.ceil(((recent[0] ?? 0) + 60_000 - now) / 1000)
        expect(() => restarts.add('s', 'it ended with code 1')).toThrow(
          expect.objectContaining({
            code: 'UPSTREAM_UNAVAILABLE',
            message: 'Cannot start "s": it ended too often within a minute: it ended with code 1',
            details: { retry_after: wait },
          }),
        )
      }
      expect(restarts.count).toBe(times.length)
    }),
  )
})
