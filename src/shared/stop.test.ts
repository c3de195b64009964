import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openStopper, realSignal } from './stop.ts'

test('whoever listens hears once that a call was ended, and not after having let go', () => {
  const heard: string[] = []
  const stopper = openStopper()
  const { signal } = stopper
  const gone = (): void => void heard.push('gone')
  signal.addEventListener('abort', () => heard.push('first'), { once: true })
  signal.addEventListener('abort', gone)
  signal.removeEventListener('abort', gone)
  expect(signal.aborted).toBe(false)
  stopper.abort()
  stopper.abort()
  signal.addEventListener('abort', () => heard.push('late'))
  expect([signal.aborted, heard]).toEqual([true, ['first']])
})

test('the system is given a signal of its own kind, which ends with it and is made once', async () => {
  const stopper = openStopper()
  const real = realSignal(stopper.signal)
  expect(realSignal(real)).toBe(real)
  expect(realSignal(stopper.signal)).toBe(real)
  const waiting = delay(60_000, undefined, { signal: real })
  stopper.abort()
  await expect(waiting).rejects.toThrow('aborted')
  expect(realSignal(stopper.signal).aborted).toBe(true)
})
