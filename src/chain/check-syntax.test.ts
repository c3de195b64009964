import { expect, test } from 'vitest'
import { isNamed } from './check-syntax.ts'

test.each([
  ['main.py', '*.py', true],
  ['main.py', 'main.py', true],
  ['main.pyc', '*.py', false],
  ['a.test.py', '*.test.*', true],
  ['ab', 'a*b', true],
  ['a', 'a*a', false],
  ['aXbXc', 'a*b*c', true],
  ['aXcXb', 'a*b*c', false],
  ['lib/a.py', 'lib/*.py', true],
  ['anything', '*', true],
])('"%s" is named by "%s": %s', (name, glob, expected) => {
  expect(isNamed(name, glob)).toBe(expected)
})
