import { expect, test } from 'vitest'
import { createTail } from './tail.ts'

test('UP-11: a tail keeps the last bytes, however they are cut into pieces', () => {
  const text = Array.from({ length: 500 }, (_, i) => `line ${i}\n`).join('')
  for (const step of [1, 7, 99, 100, 101, 1000, 100_000]) {
    const tail = createTail(100)
    for (let at = 0; at < text.length; at += step) tail.add(Buffer.from(text.slice(at, at + step)))
    expect(tail.text()).toBe(text.slice(-100))
  }
})

test('a tail that is not full holds everything, and an unused one nothing', () => {
  const tail = createTail(100)
  expect(tail.text()).toBe('')
  tail.add(Buffer.from('one'))
  tail.add(Buffer.from(' two'))
  expect(tail.text()).toBe('one two')
})

test('a character that the ring cut in two is left out', () => {
  const tail = createTail(10)
  // 13 bytes: the last 10 begin in the middle of the second letter.
  tail.add(Buffer.from('äöüäöüx'))
  expect(tail.text()).toBe('üäöüx')
})
