import { expect, test } from 'vitest'
import { fitsGlob, isGlob } from './glob.ts'

test.each([
  ['acme.*', 'acme.mail', true],
  ['acme.*', 'acmeXmail', false],
  ['acme.*', 'x.acme.mail', false],
  ['acme/**', 'acme/net/mail', true],
  ['acme/**', 'acme', false],
  ['**/mail', 'mail', true],
  ['**/mail', 'a/b/mail', true],
  ['*', 'a/b', false],
  ['**', 'a/b', true],
  ['mail?', 'mail1', true],
  ['mail?', 'mail', false],
  ['a+b', 'aab', false],
])('%s and %s: %s', (pattern, name, fits) => {
  expect(fitsGlob(pattern, name)).toBe(fits)
})

test('a name is no pattern', () => {
  expect([isGlob('a.b-c/d'), isGlob('a*'), isGlob('a?')]).toEqual([false, true, true])
})
