import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { learnableWords } from './learnable-words.ts'
import { stemOf } from './stem.ts'

describe('S3: of a query only plain words are kept', () => {
  test.each([
    ['Resize the images', ['imag', 'resiz']],
    ['please resize an image', ['imag', 'resiz']],
    ['type:bash in:project deploy tag:x', ['deploy']],
    ['', []],
    ['wetter in Köln', ['köln', 'wetter']],
    ['東京 天気', ['天気', '東京']],
  ])('%j: %j', (query, words) => {
    expect(learnableWords(query)).toEqual(words)
  })

  test.each([
    ['login with password hunter', []],
    ['my api_key abcdef', []],
    ['my passphrase is correct horse battery', []],
    ['the Passcode: tiger', []],
    ['unlock with pin hunter', []],
    ['pwd hunter for the mail', []],
    ['the key is swordfish', []],
    ['KEYS of the house', []],
    ['log in as bob swordfish', []],
    ['login bob swordfish', []],
    ['credentials bob swordfish', []],
    ['the otp is tiger', []],
    ['mein Kennwort lautet tiger', []],
    ['monkey in the keyboard, pinned', ['keyboard', 'monkey', 'pin']],
    ['send sk-live-4eC39HqLyjWDarjtT1zdp7dc', ['send']],
    ['call 4111111111111111 now', ['call', 'now']],
    ['mail to someone@example.com', ['mail']],
    ['fetch https://user:pw@host/x', []],
    ['fetch https://ann:tiger@host/x', ['fetch']],
    ['[REDACTED:WEATHER] weather', ['weather']],
    ['NAME=value deploy', ['deploy']],
    [`x ${'a'.repeat(33)} deploy`, ['deploy']],
  ])('S3: of %j is kept %j', (query, words) => {
    expect(learnableWords(query)).toEqual(words)
  })

  test('whatever is asked: few words, short, of letters, each once and in order, the same again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (query) => {
        const words = learnableWords(query)
        expect(words.length).toBeLessThanOrEqual(12)
        expect(words).toEqual([...new Set(words)].toSorted())
        expect(words.every((word) => /^\p{L}{1,20}$/u.test(word))).toBe(true)
      }),
    )
  })
})

test.each([
  ['creates', 'created', 'creating', 'create'],
  ['issues', 'issue'],
  ['queries', 'query'],
  ['commits', 'committed', 'commit'],
  ['lists', 'listing', 'list'],
  ['deploys', 'deployed', 'deploying'],
])('forms of one word are one: %s, %s', (...forms) => {
  expect(new Set(forms.map(stemOf)).size).toBe(1)
})

test.each(['bus', 'status', 'class', 'red', 'thing', 'is', 'données'])('%s stays apart', (word) => {
  expect(stemOf(word).length).toBeGreaterThanOrEqual(word.length - 1)
})
