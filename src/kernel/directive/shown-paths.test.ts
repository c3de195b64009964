import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compilePathGlob } from '../policy/glob.ts'
import type { Rule } from '../policy/rule.ts'
import { fromProject, narrowPaths, shownPaths } from './shown-paths.ts'

test.each([
  [['src/**'], ['**'], ['src/**']],
  [['**'], ['src/**', 'docs/*.md'], ['src/**', 'docs/*.md']],
  [['src/**'], ['src/*'], ['src/*']],
  [['src/*'], ['src/**'], ['src/*']],
  [['src/*.ts'], ['src/?.ts'], ['src/?.ts']],
  [['src/**'], ['lib/**'], []],
  [['src/**', 'src/a'], ['src/**'], ['src/**', 'src/a']],
  [['/etc/**'], ['etc/**'], []],
  [['etc/**'], ['/**'], ['etc/**']],
  [[], ['**'], []],
  [['src/**'], ['**/*.ts'], ['src/**/*.ts']],
  [['**/*.ts'], ['src/**', 'lib/*', 'a/b.js'], ['src/**/*.ts', 'lib/*.ts']],
  [['/p/src/**'], ['/p/**/*.ts'], ['/p/src/**/*.ts']],
  [['src/*.ts'], ['*/a*'], ['src/a*.ts']],
  [['src/*.ts'], ['src/*.js'], []],
  [['src/a*'], ['src/b*'], []],
  [['src/*.test.*'], ['*/*.ts'], ['src/*.test.*']],
  [['*/b'], ['a/*'], ['a/b']],
  [['*/b'], ['a/?c'], []],
  [['a/**/b'], ['**/c/**'], ['a/**/c/**/b']],
  [['**/a/**'], ['**/b/**'], ['**/a/**/b/**', '**/b/**/a/**']],
  [['a/**'], ['b/**', '**/c'], ['a/**/c']],
])('D8: %j within %j is %j', (wanted, granted, paths) => {
  expect(narrowPaths(wanted, granted)).toEqual(paths)
})

test('D8: paths are shown from the project on, what is denied is not', () => {
  const rule = (match: Rule['match'], effect: Rule['effect'] = 'allow'): Rule => ({
    id: 'x',
    op: 'read',
    match,
    effect,
    remedy: '',
  })
  const rules = [
    rule({ kind: 'path', root: '/nowhere/p', globs: ['**'] }),
    rule({ kind: 'path', root: '/nowhere/p/src', globs: ['*.ts'] }, 'ask'),
    rule({ kind: 'under', paths: ['/nowhere/other'] }),
    rule({ kind: 'any' }),
    rule({ kind: 'under', paths: ['/nowhere/p/secret'] }, 'deny'),
  ]
  expect(fromProject(shownPaths(rules, 'read'), '/nowhere/p')).toEqual([
    '**',
    'src/*.ts',
    '/nowhere/other/**',
    '/**',
  ])
  expect(shownPaths(rules, 'write')).toEqual([])
  expect(fromProject(shownPaths(rules.slice(0, 1), 'read'), null)).toEqual(['/nowhere/p/**'])
})

test('D8: of many ways to meet some are shown, and none takes long to find', () => {
  const many = (name: string): string => `${`**/${name}*/`.repeat(30)}**`
  expect(narrowPaths([many('a')], [many('b')]).length).toBeLessThanOrEqual(8)
})

test('D8: what is shown of two fits both', () => {
  const glob = fc
    .array(fc.constantFrom('a', 'b', 'ab', '*', '**', 'a*', '*b'), { minLength: 1, maxLength: 4 })
    .map((segments) => segments.join('/'))
  const path = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'aab', 'c'), { minLength: 1, maxLength: 5 })
    .map((segments) => segments.join('/'))
  fc.assert(
    fc.property(glob, glob, path, (one, other, given) => {
      const isShown = narrowPaths([one], [other]).some((both) => compilePathGlob(both)(given))
      return !isShown || (compilePathGlob(one)(given) && compilePathGlob(other)(given))
    }),
    { numRuns: 2000 },
  )
})
