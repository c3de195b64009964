import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { ItemFile } from '../store/store.ts'
import { checkBundle } from './bundle.ts'

const NOTHING = new Uint8Array(0)
const check = (...paths: readonly string[]): void =>
  checkBundle(
    'a',
    paths.map((path): ItemFile => ({ path, content: NOTHING, isExecutable: false })),
  )
const refused = expect.objectContaining({
  code: 'INVALID_MANIFEST',
  message: expect.stringContaining('files of "a"'),
})

describe('ZIP-01: one bad path refuses the whole bundle', () => {
  test.each([
    '../../.bashrc',
    '..',
    '.',
    'a/../../b',
    'a/..',
    'a/./b',
    './a',
    '/etc/cron.d/x',
    '//a',
    'a//b',
    'a/',
    '',
    'C:\\x',
    'c:x',
    'a\\b',
    '\\\\host\\share',
    'a\u0000b',
    'a\nb',
    'a\u007fb',
    'a:stream',
    'a. ',
    'dots...',
    'space ',
    'a ./b',
    'x'.repeat(256),
    'ä'.repeat(128),
    `${'abc/'.repeat(300)}x`,
  ])('%j', (path) => {
    expect(() => check('main.py', path, 'other.py')).toThrow(refused)
  })

  test('in more folders than are looked into', () => {
    const paths = Array.from({ length: LIMITS.bundleFiles / 2 }, (_, n) => `a${n}/b/c/file`)
    expect(() => check(...paths)).toThrow(refused)
    expect(() => check(...paths.slice(0, 600))).not.toThrow()
  })

  test.each([
    'main.py',
    'lib/part.py',
    'a.b..c/file.txt',
    '..hidden',
    '.env.example',
    'a b/c d.txt',
    'Größe/東京.md',
    'lib/tool.yaml',
    'x'.repeat(255),
    'ä'.repeat(127),
  ])('BEN-01: %j is fine', (path) => {
    expect(() => check(path)).not.toThrow()
  })

  test('no path that is let through leads out, on any system', () => {
    const part = fc.oneof(
      fc.constantFrom('..', '.', '', '/', '\\', 'a', 'C:', 'a..', '..a'),
      fc.string({ maxLength: 4 }),
    )
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 6 }),
        fc.constantFrom('/', '\\', ''),
        (parts, join) => {
          const path = parts.join(join)
          let isLetThrough = true
          try {
            check(path)
          } catch {
            isLetThrough = false
          }
          const isOut = /^[/\\]|^[A-Za-z]:|(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(path)
          expect(isLetThrough && isOut).toBe(false)
        },
      ),
    )
  })
})

test.each(['.git/config', '.git', 'lib/.git/hooks/pre-commit', '.GIT/config', 'a/.Git'])(
  '%s belongs to Git, and is no file of an item',
  (path) => {
    expect(() => check('main.py', path)).toThrow('belongs to Git')
    expect(() => check('.gitignore', '.github/x.yaml', 'a.git', 'git/x')).not.toThrow()
  },
)

describe('paths that cannot stand beside each other', () => {
  test.each([
    [['a.py', 'a.py']],
    [['a.py', 'A.py']],
    [['lib/x', 'Lib/X']],
    [['\u00e9.py', 'e\u0301.py']],
    [['lib', 'lib/x.py']],
    [['Lib', 'lib/x.py']],
    [['a/b/c', 'a/b']],
    [['tool.yaml']],
    [['TOOL.YAML']],
  ])('%j', ([...paths]) => {
    expect(() => check(...paths)).toThrow(refused)
  })

  test('neighbours with a common beginning are no clash', () => {
    expect(() => check('lib/x', 'lib.py', 'lib2/x', 'lib/x2')).not.toThrow()
  })
})

const files = (...contents: readonly Uint8Array[]): readonly ItemFile[] =>
  contents.map((content, n) => ({ path: `f${n}`, content, isExecutable: false }))

describe('limits', () => {
  test('ZIP-03: 2 000 files are taken, 2 001 are not', () => {
    const paths = Array.from({ length: LIMITS.bundleFiles + 1 }, (_, n) => `f${n}`)
    expect(() => check(...paths.slice(1))).not.toThrow()
    expect(() => check(...paths)).toThrow(refused)
  })

  test('ZIP-03: 50 MB in all are taken, a byte more is not', () => {
    const half = new Uint8Array(LIMITS.bundleBytes / 2)
    expect(() => checkBundle('a', files(half, half))).not.toThrow()
    expect(() => checkBundle('a', files(half, half, new Uint8Array(1)))).toThrow(refused)
  })

  test('a path is cut in the message', () => {
    expect(() => check(`/${'x'.repeat(100_000)}`)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,300}$/) }),
    )
  })
})
