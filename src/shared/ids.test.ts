import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Category, createIds, ItemName, parseItemRef } from './ids.ts'

describe('ids', () => {
  test('they sort by time, and are 26 characters of one alphabet', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 48 - 2 }),
        fc.integer({ min: 1, max: 2 ** 40 }),
        (time, later) => {
          const [first, second] = [
            createIds(() => time)(),
            createIds(() => Math.min(time + later, 2 ** 48 - 1))(),
          ]
          expect(first < second).toBe(true)
          for (const id of [first, second]) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
        },
      ),
    )
  })

  test('time and randomness are what was passed in', () => {
    const ids = createIds(
      () => 1_760_000_000_000,
      (bytes) => new Uint8Array(bytes).fill(255),
    )
    expect(ids()).toBe('01K742SG00ZZZZZZZZZZZZZZZZ')
  })

  test('a thousand of one moment are all different', () => {
    const ids = createIds(() => 0)
    expect(new Set(Array.from({ length: 1000 }, () => ids())).size).toBe(1000)
  })
})

describe('PRM-09: the one parser of item ids', () => {
  test.each([
    ['tool', { name: 'tool', category: null, version: null }],
    ['TOOL', { name: 'TOOL', category: null, version: null }],
    ['tool@1.0.0', { name: 'tool', category: null, version: '1.0.0' }],
    ['tool@^1', { name: 'tool', category: null, version: '^1' }],
    ['a/b-c/tool@1.0.0-rc.1+x', { name: 'tool', category: 'a/b-c', version: '1.0.0-rc.1+x' }],
    ['supabase.execute_sql', { name: 'supabase.execute_sql', category: null, version: null }],
    ['a..b', { name: 'a..b', category: null, version: null }],
  ])('%s is read', (text, expected) => {
    expect(parseItemRef(text)).toEqual(expected)
  })

  test.each([
    ' tool',
    'tool ',
    'tool\n',
    '\ttool',
    'tool\0',
    'mcp:../tool',
    '../tool',
    'a/../tool',
    './tool',
    '/tool',
    'a//tool',
    'a/',
    '.',
    '..',
    '.hidden',
    'a/..',
    '',
    '@1.0.0',
    'tool@',
    'tool%2e',
    'tool\\x',
    're\u0430d_file',
    'to\u200bol',
    '\uff54ool',
    '\u202etool',
    'a'.repeat(129),
    `${'a/'.repeat(200)}tool`,
  ])('%j is refused', (text) => {
    expect(() => parseItemRef(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        details: { missing: [], invalid: [{ name: 'item_id', reason: 'not an item id' }] },
      }),
    )
  })

  test('upper and lower case are different ids', () => {
    expect(parseItemRef('TOOL').name).not.toBe(parseItemRef('tool').name)
  })

  test('what is read is what was written: nothing is trimmed, folded or decoded', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
    const name = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,20}$/)
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 3 }),
        name,
        fc.option(fc.string({ minLength: 1 })),
        (folders, id, version) => {
          const text = [...folders, id].join('/') + (version === null ? '' : `@${version}`)
          const ref = parseItemRef(text)
          expect(
            [...(ref.category?.split('/') ?? []), ref.name].join('/') +
              (ref.version === null ? '' : `@${ref.version}`),
          ).toBe(text)
        },
      ),
    )
  })

  test('a version beside the id counts; two that differ are refused', () => {
    expect(parseItemRef('tool', '1.2.0').version).toBe('1.2.0')
    expect(parseItemRef('tool@1.2.0', '1.2.0').version).toBe('1.2.0')
    expect(() => parseItemRef('tool@1.2.0', '1.3.0')).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        details: { missing: [], invalid: [{ name: 'version', reason: 'given twice' }] },
      }),
    )
  })

  test('a long id is cut in the message', () => {
    expect(() => parseItemRef(`/${'x'.repeat(100_000)}`)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,200}$/) }),
    )
  })
})

test('POI-08: a name is ASCII, at most 128, and begins with no dot', () => {
  expect(['a', 'A.b_c-1', '-', 'a'.repeat(128)].every((name) => ItemName.safeParse(name).success)).toBe(true)
  expect(
    ['', '.', '..', '.git', 'a b', 'a/b', 'ä', 'a'.repeat(129)].some(
      (name) => ItemName.safeParse(name).success,
    ),
  ).toBe(false)
})

test('a category is names joined by slashes, none of them a dot', () => {
  expect(['a', 'a/b_c/D-1'].every((text) => Category.safeParse(text).success)).toBe(true)
  expect(
    ['', '/', '/a', 'a/', 'a//b', '..', 'a/../b', 'a.b', 'a b', 'a\n', 'x'.repeat(257)].some(
      (text) => Category.safeParse(text).success,
    ),
  ).toBe(false)
})
