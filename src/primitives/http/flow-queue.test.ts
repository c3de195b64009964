import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { FlowQueue } from './flow-queue.ts'
import { createFlowQueue } from './flow-queue.ts'

const open = (idleMs = 1000): { queue: FlowQueue<number>; log: string[] } => {
  const log: string[] = []
  const queue: FlowQueue<number> = createFlowQueue<number>({
    highWater: 200,
    idleMs,
    pause: () => log.push('pause'),
    resume: () => log.push('resume'),
    idle: () => queue.end(new Error('idle')),
    close: () => log.push('close'),
  })
  return { queue, log }
}

test('P12: the source is paused once above the mark and resumed at half of it', async () => {
  const { queue, log } = open()
  for (const item of [1, 2, 3]) queue.push(item, 6)
  queue.push(4, 6)
  expect(log).toEqual(['pause'])
  const read: number[] = []
  for await (const item of queue.items) {
    read.push(item)
    if (item === 3) expect(log).toEqual(['pause', 'resume'])
    if (item === 4) queue.end()
  }
  expect(read).toEqual([1, 2, 3, 4])
  expect(log).toEqual(['pause', 'resume', 'close'])
})

test('P12: a reader that waits gets items as they come, and an error after the last of them', async () => {
  const { queue, log } = open()
  setTimeout(() => queue.push(1, 1), 10)
  setTimeout(() => {
    queue.push(2, 1)
    queue.end(new Error('broke'))
    queue.push(3, 1)
    queue.end()
  }, 20)
  const read: number[] = []
  await expect(
    (async () => {
      for await (const item of queue.items) read.push(item)
    })(),
  ).rejects.toThrow('broke')
  expect(read).toEqual([1, 2])
  expect(log).toEqual(['close'])
})

test('P12: only the wait of the reader counts as idle, and a sign of life begins it anew', async () => {
  const { queue } = open(200)
  queue.push(1, 1)
  const life = setInterval(() => queue.touch(), 20)
  setTimeout(() => clearInterval(life), 400)
  const started = performance.now()
  await expect(
    (async () => {
      for await (const item of queue.items) {
        expect(item).toBe(1)
        await delay(250)
      }
    })(),
  ).rejects.toThrow('idle')
  expect(performance.now() - started).toBeGreaterThan(550)
})
