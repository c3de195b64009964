import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  dictionary,
  integer,
  oneof,
  string,
} from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { JsonObject } from '../shared/json.ts'
import { editManifest } from './edit-manifest.ts'
import { parseDocument } from './parse-document.ts'

const edit = (text: string, changes: JsonObject): Promise<string> => editManifest(text, changes, 'x.yaml')

describe('T10: a manifest is edited, not written anew', () => {
  const TEXT = `# why it is there
tool_id: greet   # its name
version: '1.0.0' # raised by hand

# what it does
description: >
  Greets
  people
config: {command: "sh",   args: [ -c ]}
parameters:
- name: who # whom
  type: string
tags: [a]
`

  test('comments, order, quotes and layout of what does not change stay to the byte', async () => {
    expect(await edit(TEXT, { tags: ['a', 'b'] })).toBe(TEXT.replace('tags: [a]\n', 'tags:\n  - a\n  - b\n'))
    expect(await edit(TEXT, { description: 'Says hello' })).toBe(
      TEXT.replace('description: >\n  Greets\n  people\n', 'description: Says hello\n'),
    )
  })

  test('a plain value takes the place of another in its quotes, and the comment beside it stays', async () => {
    expect(await edit(TEXT, { version: '1.0.1', tool_id: 'greets' })).toBe(
      TEXT.replace("'1.0.0' #", "'1.0.1' #").replace('greet   #', 'greets   #'),
    )
  })

  test('null takes a key out, and a new key comes last', async () => {
    expect(await edit(TEXT, { parameters: null, tags: null, locked: ['command'] })).toBe(
      `${TEXT.slice(0, TEXT.indexOf('parameters:'))}locked:\n  - command\n`,
    )
  })

  test('what already says so is left alone', async () => {
    expect(await edit(TEXT, { tool_id: 'greet', tags: ['a'] })).toBe(TEXT)
  })

  test.each([
    ['no line break at the end', 'a: 1\nb: 2', { b: 3, c: 4 }, 'a: 1\nb: 3\nc: 4\n'],
    ['line breaks of two characters', 'a: 1\r\nb: 2\r\n', { a: { x: 1 } }, 'a:\r\n  x: 1\r\nb: 2\r\n'],
    ['marks of a document', '---\na: 1\n...\n', { b: 2 }, '---\na: 1\nb: 2\n...\n'],
    ['nothing but comments', '# only\n', { a: 1 }, '# only\na: 1\n'],
    ['a value on no line', 'a:\nb: 2\n', { a: 1 }, 'a: 1\nb: 2\n'],
    [
      'JSON stays JSON',
      '{\n    "a": 1,\n    "b": [1]\n}\n',
      { a: 2 },
      '{\n    "a": 2,\n    "b": [\n        1\n    ]\n}\n',
    ],
    ['JSON on one line', '{"a":1}', { b: null, c: 'x' }, '{"a":1,"c":"x"}'],
  ])('%s', async (_, text, changes, wanted) => {
    expect(await edit(text, changes)).toBe(wanted)
  })

  test('what it says afterwards is what was asked for, whatever it was', async () => {
    const key = constantFrom('a', 'b', 'c', 'version', 'x y', '#', "'")
    const value = oneof(
      string(),
      integer(),
      boolean(),
      array(string(), { maxLength: 3 }),
      dictionary(constantFrom('k', 'l'), oneof(string(), array(integer())), { maxKeys: 2 }),
      constantFrom('two\nlines\n', ' - x', '# no comment', '1.0.0', '...', '---', 'a: b', '\n\n'),
    )
    const object = dictionary(key, value, { maxKeys: 5, noNullPrototype: true })
    await assert(
      asyncProperty(
        object,
        dictionary(key, oneof(value, constant(null)), { maxKeys: 4, noNullPrototype: true }),
        constantFrom(2, 4),
        async (before, changes, indent) => {
          const text = stringify(before, { indent, commentString: (c) => `# ${c}` })
          const edited = await parseDocument(await edit(text, changes), 'edited')
          const wanted = Object.fromEntries(
            Object.entries({ ...before, ...changes }).filter(([, given]) => given !== null),
          )
          expect(edited).toEqual(wanted)
        },
      ),
      { numRuns: 500 },
    )
  })
})
