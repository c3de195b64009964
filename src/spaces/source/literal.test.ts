import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../shared/json.ts'
import { canonicalJson, isObject } from '../../shared/json.ts'
import { JAVASCRIPT, PYTHON } from './dialects.ts'
import { createLiterals } from './literal.ts'

const python = (text: string): JsonValue | undefined => createLiterals(text, PYTHON, 'a.py')(0)?.value
const javascript = (text: string): JsonValue | undefined => createLiterals(text, JAVASCRIPT, 'a.js')(0)?.value

describe('L2: literals of Python', () => {
  test.each<readonly [string, JsonValue]>([
    [`'a'`, 'a'],
    [`"it's"`, "it's"],
    [`r"\\d"`, '\\d'],
    [`R'\\n'`, '\\n'],
    [`u'a'`, 'a'],
    [`b"a\\x41"`, 'aA'],
    [`rb'\\x'`, '\\x'],
    [`'\\t\\n\\\\\\'\\x41\\u00e9\\U0001F600\\101'`, "\t\n\\'Aé😀A"],
    [`'\\q'`, '\\q'],
    [`"""a\n"b" c"""`, 'a\n"b" c'],
    [`'''a\\\nb'''`, 'ab'],
    [`"""\r\na"""`, '\na'],
    [`'a' "b" r'\\c'`, 'ab\\c'],
    [`('a'\n  # why\n  'b')`, 'ab'],
    ["'a' \\\n 'b'", 'ab'],
    [`'a'\n'b'`, 'a'],
    ['1_000', 1000],
    ['0xFF', 255],
    ['0o17', 15],
    ['0b101', 5],
    ['-5', -5],
    ['+.5', 0.5],
    ['1.', 1],
    ['-1e3', -1000],
    ['1.7e308', 1.7e308],
    ['True', true],
    ['False', false],
    ['None', null],
    ['[]', []],
    ['[1, 2,]', [1, 2]],
    ['()', []],
    ['(1,)', [1]],
    ['(1)', 1],
    ['(1, (2, 3))', [1, [2, 3]]],
    [`{'a': 1, "b": [None], 3: 'c',}`, { a: 1, b: [null], 3: 'c' }],
    ['{\n  # a comment\n  "a": (  # another\n    1,\n  ),\n}', { a: [1] }],
  ])('%s', (text, value) => {
    expect(python(text)).toEqual(value)
  })

  test.each([
    'f"a"',
    'F"{x}"',
    'name',
    'call()',
    '[call()]',
    '{"a": b}',
    '{1, 2}',
    '{**a}',
    '[*a]',
    '{"a"}',
    '1j',
    '1if',
    '9007199254740993',
    '1e999',
    '"open',
    'r"\\d\\"',
    "'''open",
    '[1',
    '{"a": 1',
    '[1 2]',
    '...',
    '',
  ])('%s is computed or broken: it is not read', (text) => {
    expect(python(text)).toBe(undefined)
  })

  test.each(['__proto__', 'constructor', 'prototype'])(
    'PAR-06: the key %s is refused with its place',
    (key) => {
      expect(() => python(`{\n  "a": {"${key}": {"isAdmin": True}}}`)).toThrow(
        `Cannot read "a.py": "${key}" is not allowed as a key (line 2, column 9)`,
      )
      expect(Object.hasOwn(Object.prototype, 'isAdmin')).toBe(false)
    },
  )

  test('a key that is there twice is refused with its place', () => {
    expect(() => python('{"a": 1,\n "a": 2}')).toThrow('the key "a" is there twice (line 2, column 2)')
  })

  test.each(['[', '(', '{"a": '])('PAR-02: %s a hundred thousand times is refused at depth 64', (open) => {
    expect(() => python(open.repeat(100_000))).toThrow('nested deeper than 64 levels')
    expect(() => python(open.repeat(64))).not.toThrow()
  })

  test('property: whatever JSON can hold is read as it was written', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        // Whole numbers beyond 2^53 are no numbers of JavaScript, and are not read.
        fc.pre(!JSON.stringify(value).match(/__proto__|constructor|prototype|e[+-]\d|\d{16}/))
        expect(canonicalJson(python(asPython(value)))).toBe(canonicalJson(value))
        expect(canonicalJson(javascript(JSON.stringify(value)))).toBe(canonicalJson(value))
      }),
    )
  })
})

function asPython(value: unknown): string {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(asPython).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value).replaceAll('\\/', '/')
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${asPython(inner)}`)
    .join(', ')}}`
}

describe('literals of JavaScript', () => {
  test.each<readonly [string, JsonValue]>([
    [`'it\\'s'`, "it's"],
    ['`a\nb`', 'a\nb'],
    ['`\\${a}`', '${a}'],
    [`"\\x41\\u0042\\u{1F600}\\n\\q"`, 'AB😀\nq'],
    [`{a: 1, 'b': [true, null], "c": undefined, 4: 2,}`, { a: 1, b: [true, null], c: null, 4: 2 }],
    ['[1, /* two */ 2, // three\n]', [1, 2]],
  ])('%s', (text, value) => {
    expect(javascript(text)).toEqual(value)
  })

  test.each(['`${a}`', '{[a]: 1}', '{...a}', 'new Map()', '(1)', '10n', '"open', '{a}'])(
    '%s is computed or broken: it is not read',
    (text) => {
      expect(javascript(text)).toBe(undefined)
    },
  )
})
