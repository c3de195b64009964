import { expect, test } from 'vitest'
import { compileMatch } from './match.ts'
import type { Demand, Effect, Match } from './rule.ts'

const speaks = (match: Match, demand: Demand): boolean => compileMatch(match, new Map())(demand)
const tool = (id: string, more: Partial<Extract<Demand, { op: 'tool' }>> = {}): Demand => ({
  op: 'tool',
  id,
  action: 'run',
  ...more,
})
const SUPABASE = { of: { server: 'supabase', tool: 'list' } }
const exec = (...argv: readonly [string, ...string[]]): Demand => ({
  op: 'exec',
  program: `/bin/${argv[0]}`,
  argv,
})

test.each<[Match, Demand, boolean]>([
  [{ kind: 'tool' }, tool('x'), true],
  [{ kind: 'tool' }, exec('x'), false],
  [{ kind: 'tool', server: null }, tool('x'), true],
  [{ kind: 'tool', server: null }, tool('supabase.list', SUPABASE), false],
  [{ kind: 'tool', server: 'supabase' }, tool('supabase.list', SUPABASE), true],
  [{ kind: 'tool', server: 'supa*' }, tool('anything', SUPABASE), true],
  [{ kind: 'tool', server: 'supabase' }, tool('supabase.list'), false],
  [{ kind: 'tool', server: 'other' }, tool('supabase.list', SUPABASE), false],
  [{ kind: 'tool', server: '*', except: ['supabase'] }, tool('supabase.list', SUPABASE), false],
  [{ kind: 'tool', server: 'supabase', tools: ['list'] }, tool('y', SUPABASE), true],
  [{ kind: 'tool', server: 'supabase', tools: ['delete', 'li*'] }, tool('y', SUPABASE), true],
  [{ kind: 'tool', tools: ['x'] }, tool('x'), true],
  [{ kind: 'tool', tools: ['x'] }, tool('X'), false],
  [{ kind: 'tool', tools: ['a/b/*'] }, tool('x', { category: 'a/b' }), true],
  [
    { kind: 'tool', tools: ['resources/*'] },
    tool('s', { of: { server: 's', tool: 'resources/read' } }),
    true,
  ],
  [{ kind: 'tool', tools: ['prompts/*'] }, tool('s', { of: { server: 's', tool: 'resources/read' } }), false],
  [{ kind: 'tool', tools: ['a/b/*'] }, tool('x'), false],
  [{ kind: 'tool', actions: ['create'] }, tool('x', { action: 'create' }), true],
  [{ kind: 'tool', actions: ['create'] }, tool('x'), false],
  [{ kind: 'tool', types: ['script'] }, tool('x', { type: 'script' }), true],
  [{ kind: 'tool', types: ['script'] }, tool('x', { type: 'api' }), false],
  [{ kind: 'tool', types: ['script'] }, tool('x'), false],
])('PRM-01, PRM-09: %j speaks of %j: %s', (match, demand, isSpoken) => {
  expect(speaks(match, demand)).toBe(isSpoken)
})

test.each<[Match, Demand, boolean]>([
  [{ kind: 'program', names: ['python'] }, exec('python3.11'), true],
  [{ kind: 'program', names: ['python3'] }, exec('python'), false],
  [{ kind: 'program', names: ['git'] }, exec('gitk'), false],
  [{ kind: 'program', names: ['/bin/git'] }, exec('git'), true],
  [{ kind: 'program', names: ['/usr/bin/git'] }, exec('git'), false],
  [{ kind: 'program', names: ['*'] }, exec('git'), true],
  [{ kind: 'program', names: ['*'] }, { op: 'exec', program: 'shell:raw' }, false],
  [{ kind: 'program', names: ['shell:raw'] }, { op: 'exec', program: 'shell:raw' }, true],
  [{ kind: 'prefix', words: ['npm', 'install', '*'] }, exec('npm', 'install', 'x'), true],
  [{ kind: 'prefix', words: ['npm', 'install', '*'] }, exec('npm', 'run'), false],
  [{ kind: 'prefix', words: ['npm', 'install', '*'] }, exec('npm'), false],
  [{ kind: 'prefix', words: ['npm', 'test'] }, exec('npm', 'test'), true],
  [{ kind: 'prefix', words: ['npm', 'test'] }, exec('npm', 'test', 'x'), false],
  [{ kind: 'prefix', words: ['*'] }, exec('npm', 'test'), false],
  [{ kind: 'prefix', words: ['npm'] }, { op: 'exec', program: '/bin/npm' }, false],
  [{ kind: 'command', patterns: ['rm -rf'] }, exec('rm', '-rf', 'x'), true],
  [{ kind: 'command', patterns: ['curl'] }, { op: 'exec', program: '/bin/curl' }, true],
  [{ kind: 'runs_code' }, { op: 'exec', program: '/bin/npm', runsCode: true }, true],
  [{ kind: 'runs_code' }, exec('npm'), false],
  [{ kind: 'starts', files: ['/k.js'] }, exec('node', '/k.js'), true],
  [{ kind: 'starts', files: ['/k.js'] }, { op: 'exec', program: '/bin/node' }, false],
  [{ kind: 'fixed' }, exec('node'), true],
  [{ kind: 'fixed' }, { op: 'exec', program: '/bin/node', isChosen: true }, false],
  [{ kind: 'fixed' }, { op: 'spawn', directive: 'x' }, false],
  [{ kind: 'fixed' }, { op: 'tool', id: 'x', action: 'run', isChosen: false }, true],
])('%j speaks of %j: %s', (match, demand, isSpoken) => {
  expect(speaks(match, demand)).toBe(isSpoken)
})

test.each([
  ['a.org', 'a.org.', true, true],
  ['a.org.', 'A.org', true, true],
  ['*.a.org', 'x.a.org.:8443', false, true],
  ['a.org', 'a.org:8443', false, true],
  ['a.org:8443', 'a.org.:8443', true, true],
  ['a.org:8443', 'a.org', false, false],
  ['[::1]', '[::1]:80', false, true],
  ['a.org', 'ba.org', false, false],
])('PRM-05: a host "%s" and "%s": allowed %s, refused %s', (named, host, isAllowed, isRefused) => {
  const demand: Demand = { op: 'net', host, method: 'GET' }
  const match: Match = { kind: 'host', hosts: [named] }
  const by = (effect: Effect): boolean => compileMatch(match, new Map(), effect)(demand)
  expect([by('allow'), by('ask'), by('deny')]).toEqual([isAllowed, isRefused, isRefused])
})

test.each<[Match, Demand, boolean]>([
  [{ kind: 'under', paths: ['/a'] }, { op: 'read', path: '/a/b' }, true],
  [{ kind: 'under', paths: ['/a'] }, { op: 'read', path: '/ab' }, false],
  [{ kind: 'under', paths: ['/'] }, { op: 'write', path: '/etc' }, true],
  [{ kind: 'around', paths: ['/a/b'] }, { op: 'write', path: '/a' }, true],
  [{ kind: 'around', paths: ['/a/b'] }, { op: 'write', path: '/a/c' }, false],
  [{ kind: 'path', root: '/a', globs: ['*.ts'] }, { op: 'write', path: '/a/b.ts' }, true],
  [{ kind: 'path', root: '/a', globs: ['*.ts'] }, { op: 'write', path: '/b/b.ts' }, false],
  [{ kind: 'path', root: '/a', globs: ['**'] }, exec('x'), false],
  [{ kind: 'host', hosts: ['*.a.org'] }, { op: 'net', host: 'X.a.org', method: 'GET' }, true],
  [{ kind: 'host', hosts: ['*.a.org'] }, { op: 'net', host: 'a.org', method: 'GET' }, false],
  [{ kind: 'host', hosts: ['*'], methods: ['GET'] }, { op: 'net', host: 'a', method: 'get' }, true],
  [{ kind: 'host', hosts: ['*'], methods: ['GET'] }, { op: 'net', host: 'a', method: 'POST' }, false],
  [{ kind: 'host', hosts: ['*'] }, exec('x'), false],
  [{ kind: 'directive', names: ['d*'] }, { op: 'spawn', directive: 'deploy' }, true],
  [{ kind: 'directive', names: ['d*'] }, exec('deploy'), false],
  [{ kind: 'any' }, exec('x'), true],
])('FS-01: %j speaks of %j: %s', (match, demand, isSpoken) => {
  expect(speaks(match, demand)).toBe(isSpoken)
})
