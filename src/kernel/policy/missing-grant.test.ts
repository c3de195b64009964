import { expect, test } from 'vitest'
import { missingGrant } from './missing-grant.ts'
import type { Demand, LayerData } from './rule.ts'

const directive: LayerData = {
  name: 'directive d',
  source: { kind: 'directive', directive: 'd', element: 'delegate' },
  rules: [],
}
const harness: LayerData = {
  name: 'user harness',
  source: { kind: 'harness', file: '/u/h.yaml', place: 'user', atTop: [] },
  rules: [],
}
const tool = (id: string, of?: { server: string; tool: string }, action = 'run'): Demand => ({
  op: 'tool',
  id,
  action,
  ...(of === undefined ? {} : { of }),
})
const EXEC: Demand = { op: 'exec', program: '/usr/bin/git', isChosen: true }
const SHELL = tool('shell.run', { server: 'shell', tool: 'run' })

test.each<[Demand, string, string]>([
  [
    { op: 'read', path: '/p/a"b' },
    '<read resource="filesystem" path="/p/a&quot;b"/>',
    'internal_tools.filesystem.allowed_paths: ["/p/a\\"b"]',
  ],
  [EXEC, '<execute resource="shell" commands="git"/>', 'internal_tools.shell.allowed_commands: ["git"]'],
  [
    { op: 'net', host: 'a.org', method: 'GET' },
    '<execute resource="http" action="GET" domains="a.org"/>',
    'rules: [{op: net, match: {host: "a.org"}, effect: allow}]',
  ],
  [
    { op: 'spawn', directive: 'x' },
    '<execute><directive>x</directive></execute>',
    'rules: [{op: spawn, match: {directive: "x"}, effect: allow}]',
  ],
  [
    { op: 'tool', id: 'x', action: 'run', type: 'directive' },
    '<execute><directive>x</directive></execute>',
    'rules: [{op: tool, match: {tool: "x"}, effect: allow}]',
  ],
  [tool('x'), '<execute resource="tool" id="x"/>', 'rules: [{op: tool, match: {tool: "x"}, effect: allow}]'],
  [
    tool('x', undefined, 'create'),
    '<kiwi><execute actions="create"/></kiwi>',
    'rules: [{op: tool, match: {tool: "x"}, effect: allow}]',
  ],
  [
    tool('kiwi-mcp', undefined, 'search'),
    '<execute resource="kiwi-mcp" action="search"/>',
    'rules: [{op: tool, match: {tool: "kiwi-mcp"}, effect: allow}]',
  ],
  [
    tool('x', { server: 'a', tool: 'b' }),
    '<execute resource="mcp" name="a" tools="b"/>',
    'internal_tools.mcps.a: {enabled: true}',
  ],
  [
    tool('x', { server: 'git', tool: 'push' }),
    '<execute resource="mcp" name="git" tools="push"/>',
    'internal_tools.git.allowed: ["push"]',
  ],
])('H1, D9: what is missing for %j is ready to paste', (demand, element, key) => {
  expect(missingGrant(directive, demand, [demand])).toEqual({
    rule: null,
    required: element,
    remedy: `Add ${element} to <delegate> of the directive "d"`,
  })
  expect(missingGrant(harness, demand, [demand])).toMatchObject({
    required: key,
    remedy: `Add ${key} to /u/h.yaml: the person whose account this is keeps it`,
  })
})

test('the shell is granted by the program', () => {
  expect(missingGrant(directive, SHELL, [SHELL, EXEC]).required).toBe(
    '<execute resource="shell" commands="git"/>',
  )
  expect(missingGrant(directive, SHELL, [SHELL]).required).toBe(
    '<execute resource="mcp" name="shell" tools="run"/>',
  )
})

test('H1: a group that a file leaves out is told by what is done with it, else by its own key', () => {
  expect(missingGrant(harness, SHELL, [SHELL, EXEC]).required).toBe(
    'internal_tools.shell.allowed_commands: ["git"]',
  )
  expect(missingGrant(harness, SHELL, [SHELL]).required).toBe('internal_tools.shell: {enabled: true}')
  const server = tool('x', { server: 'a', tool: 'b' })
  const source = { kind: 'harness', file: '/u/h.yaml', place: 'user', atTop: ['mcps'] } as const
  expect(missingGrant({ ...harness, source }, server, [server]).required).toBe('mcps.a: {enabled: true}')
})

test('what was named at a spawn is not for a file to say, and the machine has rules for all', () => {
  expect(missingGrant({ ...directive, source: { kind: 'spawn' } }, EXEC, [EXEC])).toMatchObject({
    rule: null,
    required: null,
  })
  expect(missingGrant({ ...directive, source: { kind: 'machine' } }, EXEC, [EXEC]).remedy).toContain(
    'directive d',
  )
})

test.each<[Demand, string]>([
  [{ op: 'read', path: '/p/a"b' }, '<filesystem><read paths="/p/a&quot;b"/></filesystem>'],
  [EXEC, '<shell commands="git"/>'],
  [{ op: 'write', path: '/p/a' }, '<filesystem><write paths="/p/a"/></filesystem>'],
  [{ op: 'net', host: 'a.org', method: 'GET' }, '<execute resource="http" action="GET" domains="a.org"/>'],
  [{ op: 'spawn', directive: 'x' }, '<execute><directive>x</directive></execute>'],
  [tool('x', { server: 'a', tool: 'b' }), '<mcp name="a"><tool>b</tool></mcp>'],
  [tool('kiwi-mcp', undefined, 'search'), '<kiwi><search/></kiwi>'],
  [tool('x', undefined, 'create'), '<kiwi><execute actions="create"/></kiwi>'],
])('D8: what is missing in <tools> for %j is %s', (demand, required) => {
  const source = { kind: 'tools', directive: 'd', aliases: {} } as const
  expect(missingGrant({ name: 'tools of directive d', source, rules: [] }, demand, [demand])).toEqual({
    rule: null,
    required,
    remedy: `Add ${required} to <tools> of the directive "d"`,
  })
})
