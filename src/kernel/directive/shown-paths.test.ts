import { expect, test } from 'vitest'
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
