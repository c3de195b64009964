import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Expiring } from './deadlines.ts'
import { openDeadlines } from './deadlines.ts'

test('each expires at its own time, earlier ones that came later too, and what is gone never', async () => {
  const waiting = new Map<string, Expiring>()
  const deadlines = openDeadlines(() => waiting.values())
  const expired: string[] = []
  const add = (name: string, ms: number): void => {
    const expire = (): void => {
      expired.push(name)
      waiting.delete(name)
    }
    waiting.set(name, { deadline: deadlines.in(ms), expire })
  }
  add('never', Number.POSITIVE_INFINITY)
  add('third', 90)
  add('first', 20)
  add('gone', 40)
  add('second', 50)
  add('much later', 2 ** 40)
  waiting.delete('gone')
  await expect.poll(() => expired, { timeout: 5000 }).toEqual(['first', 'second', 'third'])
  await delay(20)
  expect([...waiting.keys()]).toEqual(['never', 'much later'])
})
