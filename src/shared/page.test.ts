import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { pageBytes, pageOf } from './page.ts'

/** Reads all pages, each as large as asked for, and says where each began. */
function readAll(bytes: Uint8Array, limit: number): { text: string; offsets: number[] } {
  const offsets: number[] = []
  let text = ''
  for (let offset: number | null = 0; offset !== null && offsets.length <= bytes.length;) {
    const page = pageOf(
      bytes.subarray(offset, offset + pageBytes(bytes.length, offset, limit)),
      offset,
      bytes.length,
    )
    offsets.push(offset)
    text += page.text
    offset = page.next_offset
  }
  return { text, offsets }
}

test('L8: pages of any size put together are the text, and no character is cut in two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 12 }), (text, limit) => {
      expect(readAll(Buffer.from(text), limit).text).toBe(text)
    }),
  )
})

test('L8: pages of bytes that are no text get to the end all the same', () => {
  fc.assert(
    fc.property(fc.uint8Array({ max: 200 }), fc.integer({ min: 1, max: 12 }), (bytes, limit) => {
      const { offsets } = readAll(bytes, limit)
      expect(offsets).toEqual([...new Set(offsets)])
    }),
  )
})

test('L8: a page beyond the end is empty and the last', () => {
  expect(pageBytes(3, 9, 16)).toBe(0)
  expect(pageOf(new Uint8Array(), 9, 3)).toEqual({ text: '', offset: 9, bytes: 3, next_offset: null })
})
