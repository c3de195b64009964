import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { looksLikeJson, readJson } from './read-json.ts'

const read = (text: string): unknown => readJson(text, 'x.json')

test.each([
  [String.raw`{"a": "C:\Program Files"}`, String.raw`\P is no escape: a backslash in a text is written \\`],
  ['{"a": "x\ty"}', 'must be escaped'],
  ["{'a': 1}", 'a key must stand in double quotes (line 1, column 2)'],
  ['{"a": True}', 'a value must be a text in double quotes'],
  ['{"a": 01}', 'a value must be'],
  ['{"a": ,}', 'a value is missing'],
  ['{"a":', 'it ends where a value should stand'],
])('X9: %j is no JSON, and what is said of it helps', (text, reason) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ code: 'PARSE_ERROR', message: expect.stringContaining(reason) }),
  )
})

test('X7: what stands where a value should may be a credential, and is not said', () => {
  for (const text of ['{"TOKEN": sk-canary}', '{sk-canary: 1}', '{"sk-canary"}', '{"a": "sk-canary}'])
    expect(() => read(text)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('canary') }),
    )
})

test('X9: whatever is written as JSON is read, and what cannot be parsed is not', () => {
  const text = fc.oneof(
    fc.json(),
    fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', 'a', '1', '\\', ' ', '\n') }),
  )
  fc.assert(
    fc.property(text, (given) => {
      // A comma before a closing bracket is let pass here, as clients do.
      fc.pre(!/,\s*[}\]]/.test(given))
      expect(isThrown(() => read(given))).toBe(isThrown(() => JSON.parse(given)))
    }),
  )
})

test('X9: a text that begins as JSON does is taken for it, one of YAML is not', () => {
  for (const text of ['{"a": 1', '\uFEFF{\n  "a"', '{}', '[{', '["a"']) expect(looksLikeJson(text)).toBe(true)
  for (const text of ['{a: 1}', 'a: {"b": 1}', '- a', '', '[a, b]']) expect(looksLikeJson(text)).toBe(false)
})

function isThrown(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch {
    return true
  }
}
