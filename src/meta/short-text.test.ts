import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutText, firstSentence, shares, writtenBytes } from './short-text.ts'

test.each([
  ['Reads a text file. Only within allowed folders.', 'Reads a text file.'],
  ['Reads a file e.g. of text. Or not', 'Reads a file e.g. of text.'],
  ['  Two\n\nlines \t here ', 'Two lines here'],
  ['v1.2 of it', 'v1.2 of it'],
  ['', ''],
])('the first sentence of %j is %j', (text, sentence) => {
  expect(firstSentence(text)).toBe(sentence)
})

describe('a text that is cut', () => {
  test('ends between words, and says that there was more', () => {
    expect(cutText('Create a new repository', 23)).toBe('Create a new repository')
    expect(cutText('Create a new repository', 18)).toBe('Create a new...')
    expect(cutText('Createanewrepository', 10)).toBe('Createa...')
    expect(cutText('Create', 3)).toBe('')
  })

  test('never takes more bytes than it may, nor half a character', () => {
    const text = fc.string({ unit: 'binary', maxLength: 80 })
    fc.assert(
      fc.property(text, fc.nat(100), (whole, most) => {
        const cut = cutText(whole, most)
        expect(writtenBytes(cut)).toBeLessThanOrEqual(Math.max(0, most))
        if (cut !== whole && cut !== '') expect(whole.startsWith(cut.slice(0, -3))).toBe(true)
      }),
    )
  })
})

test('shares are what is wanted as far as there is enough, and equal where there is not', () => {
  expect(shares([10, 10], 100)).toEqual([10, 10])
  expect(shares([10, 100, 100], 110)).toEqual([10, 50, 50])
  expect(shares([], 10)).toEqual([])
  fc.assert(
    fc.property(
      fc.array(fc.nat(300), { maxLength: 20 }),
      fc.integer({ min: -50, max: 3000 }),
      (wanted, total) => {
        const given = shares(wanted, total)
        const sum = given.reduce((all, one) => all + one, 0)
        expect(sum).toBeLessThanOrEqual(Math.max(0, total))
        expect(given.every((one, at) => one >= 0 && one <= (wanted[at] ?? 0))).toBe(true)
      },
    ),
  )
})
