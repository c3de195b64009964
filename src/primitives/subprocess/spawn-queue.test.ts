import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Entry } from './spawn-queue.ts'
import { openSpawnQueue } from './spawn-queue.ts'

const open = (places: number, waiting: number) =>
  openSpawnQueue({ run: { places, waiting }, session: { places: 1, waiting: 0 } })

test('N14: nobody waits a turn when nobody is there', async () => {
  const queue = open(2, 2)
  let hasTurned = false
  setImmediate(() => {
    hasTurned = true
  })
  expect(await queue.enter('run')).toBe('go')
  expect(hasTurned).toBe(false)
})

test('N14: under load one gets in each turn of the loop, in order', async () => {
  const queue = open(10, 10)
  const log: number[] = []
  let turn = 0
  let isCounting = true
  const count = (): void => {
    turn++
    if (isCounting) setImmediate(count)
  }
  setImmediate(count)
  const turns: number[] = []
  const enter = async (number: number): Promise<void> => {
    expect(await queue.enter('run')).toBe('go')
    log.push(number)
    turns.push(turn)
  }
  await Promise.all([0, 1, 2, 3, 4].map(enter))
  isCounting = false
  expect(log).toEqual([0, 1, 2, 3, 4])
  expect(new Set(turns).size).toBe(5)
})

test('N14: a place that gets free goes to the one who waited longest', async () => {
  const queue = open(1, 5)
  expect(await queue.enter('run')).toBe('go')
  const log: string[] = []
  const follow = async (name: string): Promise<void> => {
    log.push(`${name} ${await queue.enter('run')}`)
  }
  const waiting = [follow('first'), follow('second')]
  await nextTurn()
  await nextTurn()
  expect(log).toEqual([])
  queue.leave('run')
  await waiting[0]
  expect(log).toEqual(['first go'])
  queue.leave('run')
  await waiting[1]
  expect(log).toEqual(['first go', 'second go'])
})

test('N14: beyond places and waiting room the answer is overloaded, at once', async () => {
  const queue = open(1, 1)
  expect(await queue.enter('run')).toBe('go')
  const waiting = queue.enter('run')
  expect(await queue.enter('run')).toBe('overloaded')
  queue.leave('run')
  expect(await waiting).toBe('go')
})

test('N14: one who waits can be cancelled and leaves no gap', async () => {
  const queue = open(1, 2)
  await queue.enter('run')
  const cancel = new AbortController()
  const given: Promise<Entry>[] = [queue.enter('run', cancel.signal), queue.enter('run')]
  cancel.abort()
  expect(await given[0]).toBe('cancelled')
  expect(await queue.enter('run', cancel.signal)).toBe('cancelled')
  queue.leave('run')
  expect(await given[1]).toBe('go')
})

test('P13: sessions have places of their own', async () => {
  const queue = open(1, 0)
  expect(await queue.enter('run')).toBe('go')
  expect(await queue.enter('session')).toBe('go')
  expect(await queue.enter('session')).toBe('overloaded')
  expect(await queue.enter('run')).toBe('overloaded')
  queue.leave('session')
  expect(await queue.enter('session')).toBe('go')
})

test('N14: closing turns away those who wait and those who come', async () => {
  const queue = open(1, 1)
  await queue.enter('run')
  const waiting = queue.enter('run')
  queue.close()
  expect(await waiting).toBe('closed')
  expect(await queue.enter('run')).toBe('closed')
})
