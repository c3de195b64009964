import { expect, test } from 'vitest'
import { createBytePile } from './byte-pile.ts'

test('pieces of every size come out in the order they came in', () => {
  const pile = createBytePile()
  const all: Buffer[] = []
  for (let i = 0; i < 500; i++) {
    const piece = Buffer.alloc(i % 7 === 0 ? 9000 : i % 13, i)
    all.push(piece)
    pile.add(piece)
  }
  const expected = Buffer.concat(all)
  expect(pile.size).toBe(expected.length)
  expect(pile.take().equals(expected)).toBe(true)
})

test('a pile is empty after it was taken and can be used again', () => {
  const pile = createBytePile()
  for (let i = 0; i < 40; i++) pile.add(Buffer.from('a'))
  expect(pile.take().toString()).toBe('a'.repeat(40))
  expect(pile.size).toBe(0)
  expect(pile.take().length).toBe(0)
  pile.add(Buffer.from('b'))
  expect(pile.take().toString()).toBe('b')
})

test('what is dropped is gone, and the pile can be used again', () => {
  const pile = createBytePile()
  for (let i = 0; i < 40; i++) pile.add(Buffer.from('a'))
  pile.drop()
  expect([pile.size, pile.take().length]).toEqual([0, 0])
  pile.add(Buffer.from('b'))
  expect(pile.take().toString()).toBe('b')
})

test('N14: a million single bytes do not become a million objects', () => {
  const pile = createBytePile()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 1_000_000; i++) pile.add(Buffer.from([i & 0x7f]))
  const after = process.memoryUsage().heapUsed
  expect(pile.size).toBe(1_000_000)
  expect(after - before).toBeLessThan(60 * 1024 * 1024)
  expect(pile.take().length).toBe(1_000_000)
})
