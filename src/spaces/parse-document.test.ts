import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { soon } from '../../test/fixtures/soon.ts'
import { LIMITS } from '../shared/limits.ts'
import { parseDocument } from './parse-document.ts'

const read = (text: string): Promise<unknown> => parseDocument(text, 'a.yaml')
const codeOf = (text: string): Promise<unknown> =>
  read(text).then(
    () => 'read',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  )

describe('a document', () => {
  test('is a mapping in YAML or JSON, with JSON values only', async () => {
    const expected = { a: 1, b: [true, null, 'x'], c: { d: 1.5, e: '2026-01-01', f: 'yes' } }
    expect(
      await read('a: 1\nb: [true, ~, x]\nc:\n  d: 1.5\n  e: 2026-01-01\n  f: yes # a comment\n'),
    ).toEqual(expected)
    expect(await read(JSON.stringify(expected))).toEqual(expected)
    expect(await read(JSON.stringify(expected, null, 2).replaceAll('\n', '\r\n'))).toEqual(expected)
  })

  test('in JSON any object comes back as it was', async () => {
    const value = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 4 }))
    await fc.assert(
      fc.asyncProperty(value, async (object) => {
        const text = JSON.stringify(object)
        fc.pre(!/"(?:__proto__|constructor|prototype)":|\\u0000|\d{16}/.test(text))
        expect(await read(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each([
    ['nothing', ''],
    ['a comment', '# a: 1'],
    ['a list', '- a\n- b'],
    ['a text', 'hello'],
    ['a number', '5'],
    ['null', '~'],
  ])('is not %s', async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: 'Cannot read "a.yaml": it is not a mapping of keys to values',
    })
  })

  test.each([
    ['{\n "a": 1\n "b": 2\n}', '"," or "}" is missing (line 3, column 2)'],
    ['{"a" 1}', '":" is missing (line 1, column 6)'],
    ['{"a": {"b": 1}', '"," or "}" is missing (line 1, column 15)'],
    ['{"a": "open}\n', 'a text has no closing quote on its line (line 1, column 7)'],
    ['{"a": 1}}', 'something follows its end (line 1, column 9)'],
    ['{"a": 1, "a": 2}', 'the key "a" is there twice (line 1, column 10)'],
    ['a: {"b": 1', 'Flow map'],
  ])('that reads as JSON is faulted in words of JSON: %j', async (text, reason) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining(reason),
    })
  })

  test.each([
    ['a key twice', 'a: 1\nb: 2\na: 3', 3],
    ['a key twice in JSON', '{"a": 1,\n "a": 2}', 2],
    ['a key twice below', 'x:\n  y: 1\n  "y": 2', 3],
    ['a key twice in two types', '1: a\n"1": b', 2],
    ['a key twice, once quoted', "true: a\n'true': b", 2],
    ['a key that is a list', 'x: 1\n? [a, b]\n: c', 2],
    ['a key that is a mapping', '{a: 1}: b', 1],
    ['an alias', 'a: &x 1\nb: *x', 2],
    ['an alias as a key', 'a: &x y\n*x : 2', 2],
    ['a merge', 'a: &x {b: 1}\nc:\n  <<: *x', 3],
    ['a tag of its own', 'a: 1\nb: !secret x', 2],
    ['a tag that makes bytes', 'a: !!binary aGVsbG8=', 1],
    ['a tag that makes a date', 'a: !!timestamp 2001-12-14', 1],
    ['a tag that makes a set', 'a: !!set {x, y}', 1],
    ['a tag that makes an ordered map', 'a: !!omap [x: 1]', 1],
    ['a tag that names a program', 'a: !!js/function "return 1"', 1],
    ['a tab as indentation', 'a:\n\tb: 1', 2],
    ['a bracket that is never closed', 'a: [1, 2', 1],
    ['two mappings in one line', 'a: b: c', 1],
    ['a quote that is never closed', 'x: 1\na: "b', 2],
    ['an unknown directive', '%FOO bar\n---\na: 1', 1],
  ])('with %s is refused with its line', async (_, text, line) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringMatching(new RegExp(`^Cannot read "a.yaml": .*\\(line ${line}, column \\d+\\)$`)),
    })
  })

  test.each(['a: 1\n---\nb: 2', '---\na: 1\n...\n---\nb: 2\n', '---\n---\n---\n'])(
    'that holds more than one is refused: %j',
    async (text) => {
      await expect(read(text)).rejects.toMatchObject({
        code: 'PARSE_ERROR',
        message: expect.stringContaining('one document'),
      })
    },
  )

  test('PAR-12: a BOM in front is no part of it, and NUL is refused', async () => {
    expect(await read('\uFEFFa: 1')).toEqual({ a: 1 })
    expect(await read('\uFEFF{"a": 1}')).toEqual({ a: 1 })
    for (const text of ['a: "x\\0y"', '"a\\0b": 1', 'a: x\0y', '{"a": "\\u0000"}']) {
      expect(await codeOf(text)).toBe('PARSE_ERROR')
    }
  })

  test.each(['__proto__', 'constructor', 'prototype'])('PAR-06: the key %s is refused', async (key) => {
    expect(await codeOf(`{"a": {"${key}": {"isAdmin": true}}}`)).toBe('PARSE_ERROR')
    expect(await codeOf(`${key}:\n  isAdmin: true`)).toBe('PARSE_ERROR')
    expect(Reflect.get({}, 'isAdmin')).toBe(undefined)
  })

  test.each(['a: .inf', 'a: .nan', 'a: 1e400', 'a: 9007199254740993'])(
    'PAR-13: %s is refused',
    async (text) => {
      expect(await codeOf(text)).toBe('PARSE_ERROR')
    },
  )
})

const fill = (sign: string, count: number): string => `a: ${sign.repeat(count)}`

describe('bounds', () => {
  test('PAR-01: an alias bomb is refused before it grows', async () => {
    const levels = Array.from(
      { length: 10 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(', ')}]`,
    )
    expect(await soon(() => codeOf(`l0: &l0 lol\n${levels.join('\n')}`))).toBe('PARSE_ERROR')
  })

  const most = LIMITS.itemBytes
  test.each([
    ['brackets', 'a: '.concat('['.repeat(most - 3))],
    ['brackets that are closed', `a: ${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['braces', '{a: '.repeat(most / 4)],
    ['JSON objects', '{"a":'.repeat(50_000)],
    ['dashes', '- '.repeat(most / 2)],
    ['question marks', '? '.repeat(most / 2)],
    ['brackets behind question marks', '? ['.repeat(most / 3 - 1)],
    ['colons', ': '.repeat(most / 2)],
    ['indented keys', Array.from({ length: 700 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
    ['indented dashes', Array.from({ length: 700 }, (_, n) => `${' '.repeat(n)}-`).join('\n')],
  ])('PAR-02: %s without end are refused, and the process lives', async (_, text) => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most)
    expect(['TOO_DEEP', 'PARSE_ERROR']).toContain(await soon(() => codeOf(text)))
  })

  const shapes: Readonly<Record<string, (levels: number) => string>> = {
    'flow lists': (levels) => `a: ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`,
    'flow mappings': (levels) => `${'{a: '.repeat(levels)}1${'}'.repeat(levels)}`,
    JSON: (levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
    'block mappings': (levels) =>
      Array.from({ length: levels }, (_, n) => `${' '.repeat(n)}a:`)
        .join('\n')
        .concat(' 1'),
    'block lists': (levels) => `a:\n${'- '.repeat(levels - 1)}1`,
    'pairs in lists': (levels) => `a: ${'[b: '.repeat((levels - 1) / 2)}1${']'.repeat((levels - 1) / 2)}`,
  }
  test.each(Object.entries(shapes))(
    'PAR-02: of %s 64 levels are read and 65 refused',
    async (name, shape) => {
      const isPair = name.startsWith('pairs')
      expect(await codeOf(shape(LIMITS.nesting - (isPair ? 1 : 0)))).toBe('read')
      expect(await codeOf(shape(LIMITS.nesting + 1))).toBe('TOO_DEEP')
    },
  )

  test('many keys take no longer than many values', async () => {
    const keys = Array.from({ length: 40_000 }, (_, n) => `k${n.toString(36)}:`)
    expect(await soon(() => codeOf(keys.join('\n')))).toBe('read')
    expect(await soon(() => codeOf(`a: [${'1,'.repeat(100_000)}]`))).toBe('read')
  })

  test('256 kB are read, one byte more is not, and bytes are what counts', async () => {
    expect(await codeOf(fill('x', most - 3))).toBe('read')
    expect(await codeOf(fill('x', most - 2))).toBe('MESSAGE_TOO_LARGE')
    expect(await codeOf(fill('ä', most / 2))).toBe('MESSAGE_TOO_LARGE')
  })
})
