import { expect, test } from 'vitest'
import type { WantedServer, WantedTools } from '../../spaces/directive/model.ts'
import { decide } from './decide.ts'
import { plainLayer } from './layer.ts'
import type { Demand, Effect } from './rule.ts'
import { wantedLayer } from './wanted-layer.ts'

const NOTHING: WantedTools = { servers: [], scripts: [], filesystem: null, shell: null, kiwi: null }
const server = (name: string, tools: readonly string[] | null = null): WantedServer => ({
  name,
  tools,
  required: false,
  alias: null,
  proxy: true,
  refresh: false,
  why: '',
  line: 1,
})
const says = (wanted: Partial<WantedTools>, demand: Demand): Effect => {
  const context = { directive: 'd', aliases: {}, home: '/home/ada', projectPath: '/p' }
  const layer = wantedLayer({ ...NOTHING, ...wanted }, context)
  return decide([plainLayer(layer, false)], [demand], {}).effect
}
const tool = (of: string, name: string): Demand => ({
  op: 'tool',
  id: `${of}.${name}`,
  action: 'run',
  of: { server: of, tool: name },
})
const item = (action: string, id = 'x'): Demand => ({ op: 'tool', id, action })
const read = (path: string): Demand => ({ op: 'read', path, isChosen: true })
const FILES = { read: ['src/**', '${HOME}/x'], write: [] }

test.each<[string, Partial<WantedTools>, Demand, Effect]>([
  ['nothing said of files', {}, read('/p/a'), 'allow'],
  ['a path that is named', { filesystem: FILES }, read('/p/src/a'), 'allow'],
  ['another one', { filesystem: FILES }, read('/p/a'), 'deny'],
  ['writing where only reading is named', { filesystem: FILES }, { op: 'write', path: '/p/src/a' }, 'deny'],
  ['nothing said of programs', {}, { op: 'exec', program: '/bin/ls', isChosen: true }, 'allow'],
  [
    'a program that is named',
    { shell: ['git'] },
    { op: 'exec', program: '/bin/git', isChosen: true },
    'allow',
  ],
  ['another program', { shell: ['git'] }, { op: 'exec', program: '/bin/ls', isChosen: true }, 'deny'],
  ['no program', { shell: [] }, { op: 'exec', program: '/bin/ls', isChosen: true }, 'deny'],
  [
    'a command that is named',
    { shell: ['git status'] },
    { op: 'exec', program: '/bin/git', argv: ['git', 'status'], isChosen: true },
    'allow',
  ],
  [
    'another command of the program',
    { shell: ['git status'] },
    { op: 'exec', program: '/bin/git', argv: ['git', 'push'], isChosen: true },
    'deny',
  ],
  ['nothing said of servers', {}, tool('supabase', 'a'), 'allow'],
  ['a server that is named', { servers: [server('mcp_supabase')] }, tool('supabase', 'a'), 'allow'],
  ['another server', { servers: [server('github')] }, tool('supabase', 'a'), 'deny'],
  ['a tool that is listed', { servers: [server('github', ['a'])] }, tool('github', 'a'), 'allow'],
  ['a tool that is not listed', { servers: [server('github', ['a'])] }, tool('github', 'b'), 'deny'],
  ['files beside servers', { servers: [server('github', ['a'])] }, tool('filesystem', 'read'), 'allow'],
  [
    'files by another name',
    { servers: [server('filesystem', ['read_file'])] },
    tool('filesystem', 'read'),
    'allow',
  ],
  [
    'what is done with files otherwise',
    { servers: [server('filesystem', ['read_file'])] },
    tool('filesystem', 'write'),
    'deny',
  ],
  ['servers beside files', { servers: [server('filesystem')] }, tool('github', 'b'), 'allow'],
  ['running an item', { kiwi: { search: [] } }, item('run'), 'allow'],
  ['a question that is named', { kiwi: { search: [] } }, item('search', 'kiwi-mcp'), 'allow'],
  ['another question', { kiwi: { search: [] } }, item('load', 'kiwi-mcp'), 'deny'],
  ['an action that is named', { kiwi: { execute: ['create'] } }, item('create'), 'allow'],
  ['another action', { kiwi: { execute: ['create'] } }, item('delete'), 'deny'],
  ['all actions', { kiwi: { execute: ['*'] } }, item('delete'), 'allow'],
  ['nothing said of Kiwi', {}, item('delete'), 'allow'],
  ['hosts', { kiwi: {} }, { op: 'net', host: 'a.org', method: 'GET' }, 'allow'],
  ['directives', { kiwi: {} }, { op: 'spawn', directive: 'x' }, 'allow'],
])('D8: %s', (_, wanted, demand, effect) => {
  expect(says(wanted, demand)).toBe(effect)
})

test('D5: names for servers stand where the layer comes from, and its rules say whose they are', () => {
  const layer = wantedLayer(NOTHING, {
    directive: 'd',
    aliases: { db: 'supabase' },
    home: '/h',
    projectPath: null,
  })
  expect(layer).toMatchObject({
    name: 'tools of directive d',
    source: { kind: 'tools', directive: 'd', aliases: { db: 'supabase' } },
  })
  expect(layer.rules[0]).toMatchObject({
    id: 'd/tools.read/1',
    remedy: 'Change <tools> of the directive "d"',
  })
})
