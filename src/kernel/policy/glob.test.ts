import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileNameGlob } from '../../shared/name-glob.ts'
import { compilePathGlob, globFault } from './glob.ts'

test.each([
  ['src/**', '/src', true],
  ['src/**', '/src/a/b', true],
  ['src/**', '/srcs/a', false],
  ['**/.git/config', '/a/b/.git/config', true],
  ['**/.git/config', '/.git/config', true],
  ['**/.git/config', '/.git/config/x', false],
  ['*.ts', '/a.ts', true],
  ['*.ts', '/a/b.ts', false],
  ['a/*/c', '/a/b/c', true],
  ['a/*/c', '/a/b/b/c', false],
  ['a/**/c/**/d', '/a/c/x/c/d', true],
  ['a/?.ts', '/a/b.ts', true],
  ['a/?.ts', '/a/.ts', false],
  ['a/b', '/a/b', true],
  ['a/b', '/a/b/c', false],
  ['**', '/', true],
])('FS-01: the path glob %s and %s: %s', (glob, path, isFit) => {
  expect(compilePathGlob(glob)(path)).toBe(isFit)
})

test('BEN-01: dots in names are names', () => {
  const fits = compilePathGlob('src/**')
  expect(fits('/src/a.b..c/file.txt')).toBe(true)
  expect(fits('/src/..hidden')).toBe(true)
})

test.each([
  ['*', 'anything', true],
  ['merge_*', 'merge_pull_request', true],
  ['merge_*', 'unmerge_x', false],
  ['a?c', 'abc', true],
  ['list', 'list', true],
  ['{list,delete}', 'list', false],
])('PRM-03: the name glob %s and %s: %s', (glob, name, isFit) => {
  expect(compileNameGlob(glob)(name)).toBe(isFit)
})

test.each([
  ['', 'empty'],
  ['!a', '"!"'],
  ['{a,b}', 'brackets'],
  ['[ab]', 'brackets'],
  ['+(a)', 'brackets'],
  ['a\\b', 'backslash'],
  ['a\u0000', 'control'],
  ['../a', '".."'],
  ['a/./b', '"."'],
  ['a**', '"**"'],
])('FS-01: the glob %j is refused', (glob, reason) => {
  expect(globFault(glob)).toContain(reason)
})

test('a glob without a fault has none', () => {
  expect(globFault('src/**/*.ts')).toBeNull()
})

test('FS-01: a path fits the glob that is its own text, and ** fits all', () => {
  const segment = fc.stringMatching(/^[a-z.]{1,4}$/).filter((text) => text !== '.' && text !== '..')
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (segments) => {
      const path = `/${segments.join('/')}`
      expect(compilePathGlob(path)(path)).toBe(true)
      expect(compilePathGlob('**')(path)).toBe(true)
      expect(compilePathGlob(`${segments.slice(0, -1).join('/')}/*`)(path)).toBe(true)
      expect(compilePathGlob(`**/${segments.at(-1)}`)(path)).toBe(true)
    }),
  )
})

test('a glob of many stars answers at once', () => {
  expect(compileNameGlob(`${'*a'.repeat(40)}b`)('a'.repeat(5000))).toBe(false)
})
