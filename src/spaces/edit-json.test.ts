import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { setJson } from './edit-json.ts'
import { withoutComments } from './import/without-comments.ts'

const ENTRY = { command: 'kiwi', args: ['a', 'b'] }
const PLACE = ['servers', 'kiwi'] as const
const set = (text: string): string => setJson(text, PLACE, ENTRY, 'x.json')
const read = (text: string): unknown => JSON.parse(withoutComments(text))

test.each([
  ['an empty text', '', '{\n  "servers": {\n    "kiwi": {'],
  ['an empty object', '{}\n', '{\n  "servers": {\n    "kiwi": {\n'],
  ['other keys', '{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"servers": {\n\t\t"kiwi": {\n\t\t\t"command": "kiwi",\n'],
  [
    'an empty list of servers',
    '{\n  "servers": {}\n}\n',
    '{\n  "servers": {\n    "kiwi": {\n      "command": "kiwi",\n      "args": [\n        "a",\n        "b"\n      ]\n    }\n  }\n}\n',
  ],
  [
    'comments',
    '{ // top\n  "servers": {\n    "a": {"url": "x"} // the first\n    // the end\n  } /* done */\n}',
    '{ // top\n  "servers": {\n    "a": {"url": "x"}, // the first\n    // the end\n    "kiwi": {\n',
  ],
  ['a comma at the end', '{\n  "servers": {\n    "a": 1,\n  },\n}', '    "a": 1,\n    "kiwi": {\n'],
  ['one line', '{"servers": {"a": 1}}', '{"servers": {"a": 1, "kiwi": {"command":"kiwi","args":["a","b"]}}}'],
  [
    'lines of Windows',
    '{\r\n  "servers": {\r\n    "a": 1\r\n  }\r\n}',
    '"a": 1,\r\n    "kiwi": {\r\n      "command"',
  ],
  [
    'a server that is replaced',
    '{\n  "servers": {\n    "kiwi": {"url": "x"}, // mine\n    "b": 2\n  }\n}',
    '    }, // mine\n    "b": 2\n',
  ],
  [
    'texts that look like more',
    '{\n  "a": "// \\" } {",\n  "b": "/*"\n}',
    '"a": "// \\" } {",\n  "b": "/*",\n  "servers"',
  ],
  ['a mark of byte order', '\uFEFF{}', '\uFEFF{'],
])('X9: %s: the entry is put where it belongs, and the rest stays', (_, text, part) => {
  const edited = set(text)
  expect(edited).toContain(part)
  expect(read(edited)).toMatchObject({ servers: { kiwi: ENTRY } })
  expect(set(edited)).toBe(edited)
})

test('X9: whatever a config holds, it holds the same and the entry afterwards', () => {
  const spaces = fc.constantFrom(0, 2, 4, '\t')
  const rest = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
  fc.assert(
    fc.property(rest, rest, fc.boolean(), spaces, (whole, servers, hasServers, indent) => {
      const before = { ...whole, ...(hasServers ? { servers } : { servers: undefined }) }
      const edited = set(JSON.stringify(before, null, indent))
      const wanted: unknown = JSON.parse(
        JSON.stringify({ ...before, servers: { ...(hasServers ? servers : {}), kiwi: ENTRY } }),
      )
      expect(read(edited)).toEqual(wanted)
    }),
  )
})

test.each([
  ['{"a": 1', 'line 1, column 8'],
  ['{\n  "a" 1}', 'line 2, column 7'],
  ['{"a": 1 "b": 2}', '"," or "}" is missing'],
  ['{"a": [1 2]}', '"," or "]" is missing'],
  ['{"a": }', 'a value is missing'],
  ['{a: 1}', 'a key must stand in double quotes'],
  ['[]', 'it is no object'],
  ['{} {}', 'something follows its end'],
  ['{"a": '.repeat(70), 'nested deeper than 64'],
])('X9: %j is refused with its place', (text, reason) => {
  expect(() => set(text)).toThrow(
    expect.objectContaining({ code: 'PARSE_ERROR', message: expect.stringContaining(reason) }),
  )
})

test('X9: servers that are no object are left alone', () => {
  expect(() => set('{"servers": [1]}')).toThrow(expect.objectContaining({ code: 'CONFLICT' }))
})
