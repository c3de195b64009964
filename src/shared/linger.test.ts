import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLinger } from './linger.ts'

/** Parts of a millisecond that add up without rounding. */
const TURN = 1 / 64
const QUICK = 8 * TURN

/** A partner, and a loop with turns. */
function lingering(processors = 2) {
  let now = 0
  let waiting: (() => void) | null = null
  let turns = 0
  const linger = openLinger({
    clock: { monotonic: () => now },
    nextTurn: (goOn) => (waiting = goOn),
    processors,
  })
  /** How many turns are stayed awake for an answer that takes so long. */
  const exchange = (milliseconds: number): number => {
    const before = turns
    linger.begin()
    const end = now + milliseconds
    while (waiting !== null && now < end) {
      const goOn: () => void = waiting
      waiting = null
      now = Math.min(end, now + TURN)
      turns += 1
      goOn()
    }
    now = end
    linger.end()
    return turns - before
  }
  return { exchange, linger, isWaiting: () => waiting !== null }
}

test('B1: who answers at once again and again is stayed awake for, until the answer is there', () => {
  const { exchange } = lingering()
  const quick = Array.from({ length: 30 }, () => exchange(QUICK))
  expect(quick.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(quick.at(-1)).toBe(8)
})

test('B1: one that takes long once is slept through, and a few after it', () => {
  const { exchange } = lingering()
  for (let at = 0; at < 30; at++) exchange(QUICK)
  expect(exchange(5000)).toBeLessThan(16)
  expect(exchange(QUICK)).toBe(0)
  expect(Array.from({ length: 15 }, () => exchange(QUICK)).at(-1)).toBe(8)
})

test('B1: it is never stayed awake for longer than a moment, however long the answers take', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { maxLength: 60 }), (times) => {
      const { exchange } = lingering()
      for (const time of times) expect(exchange(time)).toBeLessThanOrEqual(0.3 / TURN + 1)
    }),
  )
})

test('B1: with one processor nobody is stayed awake for', () => {
  const { exchange } = lingering(1)
  expect(Array.from({ length: 30 }, () => exchange(QUICK)).every((turns) => turns === 0)).toBe(true)
})

test('B1: an answer that nobody waited for, and a second question, change nothing', () => {
  const { exchange, linger, isWaiting } = lingering()
  linger.end()
  for (let at = 0; at < 30; at++) exchange(QUICK)
  linger.begin()
  linger.begin()
  expect(isWaiting()).toBe(true)
  linger.end()
  linger.end()
  expect(exchange(QUICK)).toBe(8)
})
