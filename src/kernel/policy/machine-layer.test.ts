import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decide } from './decide.ts'
import { machineLayer } from './machine-layer.ts'
import type { Demand, Verdict } from './rule.ts'

const machine = machineLayer({
  neverWritten: ['/u/kiwi.db', '/u/kiwi.db-wal', '/u/kiwi.json', '/u/kiwi.key', '/u/undo'],
  neverRead: ['/u/kiwi.key', '/u/kiwi.token'],
  programs: ['/opt/kiwi/dist/cli.js'],
})
const judge = (demand: Demand): Verdict => decide([machine], [demand], {})

test.each(['/u/kiwi.db', '/u/kiwi.db-wal', '/u/kiwi.json', '/u/kiwi.json/x', '/u/kiwi.key', '/u/undo/a/b'])(
  'N6: writing to %s is refused: Kiwi cannot be turned against itself',
  (path) => {
    expect(judge({ op: 'write', path })).toMatchObject({ effect: 'deny', rule: 'machine/own-files' })
  },
)

test('N6: nor is a folder moved or removed that holds them', () => {
  expect(judge({ op: 'write', path: '/u' })).toMatchObject({ effect: 'deny', rule: 'machine/own-files' })
  expect(judge({ op: 'write', path: '/' })).toMatchObject({ effect: 'deny', rule: 'machine/own-files' })
})

test('N6: what tools may do is not for a tool to write, in whichever project', () => {
  expect(judge({ op: 'write', path: '/p/.ai/config/agent_harness.yaml' })).toMatchObject({
    effect: 'deny',
    rule: 'machine/own-policy',
  })
})

test('N6: keys and the token are never read', () => {
  expect(judge({ op: 'read', path: '/u/kiwi.key' })).toMatchObject({
    effect: 'deny',
    rule: 'machine/own-secrets',
  })
  expect(judge({ op: 'read', path: '/u/kiwi.json' }).effect).toBe('allow')
})

test('a neighbour with a longer name is not one of its files', () => {
  expect(judge({ op: 'write', path: '/u/kiwi.database' }).effect).toBe('allow')
})

test.each<[string, Demand]>([
  ['by its name', { op: 'exec', program: '/usr/local/bin/kiwi' }],
  ['by its file', { op: 'exec', program: '/opt/kiwi/dist/cli.js' }],
  [
    'through another program',
    { op: 'exec', program: '/usr/bin/node', argv: ['node', '/opt/kiwi/dist/cli.js', 'approve'] },
  ],
])('APR-04: no tool starts kiwi, %s', (_, demand) => {
  expect(judge(demand)).toMatchObject({ effect: 'deny', rule: 'machine/own-program' })
})

test('N6: the rest is allowed, by rules that are named', () => {
  expect(judge({ op: 'exec', program: '/bin/ls' })).toMatchObject({
    effect: 'allow',
    rule: 'machine/allow-exec',
  })
  expect(judge({ op: 'net', host: 'example.org', method: 'GET' })).toMatchObject({
    rule: 'machine/allow-net',
  })
  expect(judge({ op: 'tool', id: 'x', action: 'run' })).toMatchObject({ rule: 'machine/allow-tool' })
})

test('nobody can change it afterwards', () => {
  expect(Object.isFrozen(machine)).toBe(true)
  expect(Object.isFrozen(machine.rules)).toBe(true)
})

test('N6: a file is protected under both names when a link leads to its folder', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-own-')))
  try {
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real'), join(folder, 'link'))
    const layer = machineLayer({ neverWritten: [join(folder, 'link/kiwi.db')], neverRead: [], programs: [] })
    for (const name of ['link', 'real'])
      expect(decide([layer], [{ op: 'write', path: join(folder, name, 'kiwi.db') }], {}).effect).toBe('deny')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
