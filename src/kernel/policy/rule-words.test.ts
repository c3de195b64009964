import { expect, test } from 'vitest'
import type { Match, Operation } from './rule.ts'
import { ruleWords } from './rule-words.ts'

test.each<[Operation, Match, string]>([
  ['spawn', { kind: 'any' }, 'allow spawn *'],
  ['spawn', { kind: 'directive', names: ['a', 'b'] }, 'allow spawn a, b'],
  ['exec', { kind: 'program', names: ['git', 'npm'] }, 'allow exec git, npm'],
  ['exec', { kind: 'prefix', words: ['npm', 'run', '*'] }, 'allow exec npm run *'],
  ['exec', { kind: 'command', patterns: ['rm -rf', 'git push'] }, 'allow exec rm -rf, git push'],
  ['read', { kind: 'path', root: '/p', globs: ['src/**'] }, 'allow read /p/src/**'],
  ['write', { kind: 'under', paths: ['/p/a'] }, 'allow write /p/a'],
  ['net', { kind: 'host', hosts: ['a.org'] }, 'allow net a.org'],
  ['net', { kind: 'host', hosts: ['a.org'], methods: ['GET', 'HEAD'] }, 'allow net GET|HEAD a.org'],
  ['tool', { kind: 'tool', server: 'git', tools: ['status', 'diff'] }, 'allow tool git.status, git.diff'],
  ['tool', { kind: 'tool', server: 'github' }, 'allow tool github.*'],
  ['tool', { kind: 'tool', server: null, tools: ['x'], types: ['directive'] }, 'allow tool x (directive)'],
  ['tool', { kind: 'tool', actions: ['create', 'sign'] }, 'allow tool *: create, sign'],
  ['exec', { kind: 'runs_code' }, 'allow exec runs_code'],
])('D9: a rule of %s with %j is "%s"', (op, match, words) => {
  expect(ruleWords({ id: 'r', op, match, effect: 'allow', remedy: '' })).toBe(words)
})
