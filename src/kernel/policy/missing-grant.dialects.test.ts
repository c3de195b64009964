import { describe, expect, test } from 'vitest'
import type { Dialect } from '../../spaces/directive/dialect.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import { parseDirective } from '../../spaces/directive/parse-directive.ts'
import { judgeOf } from '../directive/excess.ts'
import { compilePermissions } from './compile-permissions.ts'
import { missingGrant } from './missing-grant.ts'
import type { Demand } from './rule.ts'
import { wantedLayer } from './wanted-layer.ts'

const tool = (id: string, of?: { server: string; tool: string }, action = 'run'): Demand => ({
  op: 'tool',
  id,
  action,
  ...(of === undefined ? {} : { of }),
})
const CONTEXT = { directive: 'd', projectPath: '/p', home: '/h', servers: new Set(['db']) }

const required = (kind: 'permissions' | 'tools', dialect: Dialect, demand: Demand): string => {
  const source =
    kind === 'tools'
      ? ({ kind: 'tools', directive: 'd', aliases: {}, dialect } as const)
      : ({ kind: 'directive', directive: 'd', element: kind, dialect } as const)
  const missing = missingGrant({ name: 'd', source, rules: [] }, demand, [demand])
  const section = dialect === 'skill' && kind === 'tools' ? 'allowed-tools' : kind
  expect(missing.remedy).toBe(`Add ${missing.required} to "${section}" of the directive "d"`)
  return missing.required ?? ''
}

const parsed = async (front: string, isSkill = false): Promise<Directive> => {
  const text = `---\nname: d\n${front}\n---\ntext\n`
  return (await parseDirective(text, { where: 'd.md', stem: 'd', isSkill })).directive
}

const DEMANDS: readonly [Demand, string, string][] = [
  [
    { op: 'read', path: '/p/a "b".md' },
    '- read: {resource: filesystem, path: "/p/a \\"b\\".md"}',
    '- filesystem: {read: ["/p/a \\"b\\".md"]}',
  ],
  [
    { op: 'write', path: '/p/a' },
    '- write: {resource: filesystem, path: "/p/a"}',
    '- filesystem: {write: ["/p/a"]}',
  ],
  [
    { op: 'exec', program: 'yes' },
    '- execute: {resource: shell, commands: "yes"}',
    '- shell: {commands: "yes"}',
  ],
  [
    tool('db.query', { server: 'db', tool: 'query' }),
    '- execute: {resource: mcp, name: db, tools: query}',
    '- mcp: {name: db, tools: [query]}',
  ],
  [tool('x', undefined, 'create'), '- kiwi: {execute: [create]}', '- kiwi: {execute: [create]}'],
  [
    tool('kiwi-mcp', undefined, 'search'),
    '- execute: {resource: kiwi-mcp, action: search}',
    '- kiwi: {search: []}',
  ],
]

describe('what is missing in a directive that is written as data', () => {
  test.each(DEMANDS)('D10: for %j it is a line of YAML that grants it', async (demand, line) => {
    expect(required('permissions', 'yaml', demand)).toBe(line)
    const { permissions } = await parsed(`permissions:\n  ${line}`)
    expect(judgeOf(compilePermissions(permissions ?? undefined, CONTEXT).permissions)(demand)).toBe(true)
  })

  test.each(DEMANDS)('D8: for %j it is a line of YAML that wants it', async (demand, _, line) => {
    expect(required('tools', 'yaml', demand)).toBe(line)
    const { wanted } = await parsed(`tools:\n  ${line}`)
    expect(judgeOf(wantedLayer(wanted, { ...CONTEXT, aliases: {} }).rules)(demand)).toBe(true)
  })

  test.each<[Demand, string]>([
    [tool('x'), '- execute: {resource: tool, id: x}'],
    [{ op: 'tool', id: 'x', action: 'run', type: 'directive' }, '- execute: [{directive: x}]'],
    [{ op: 'spawn', directive: 'x' }, '- execute: [{directive: x}]'],
    [
      { op: 'net', host: 'a.org', method: 'GET' },
      '- execute: {resource: http, action: GET, domains: "a.org"}',
    ],
  ])('D10: for %j it is %s', async (demand, line) => {
    expect(required('permissions', 'yaml', demand)).toBe(line)
    const { permissions } = await parsed(`permissions:\n  ${line}`)
    expect(judgeOf(compilePermissions(permissions ?? undefined, CONTEXT).permissions)(demand)).toBe(true)
  })

  test.each<[Demand, string]>([
    [{ op: 'read', path: 'src/**' }, 'Read(src/**)'],
    [{ op: 'write', path: 'src/**' }, 'Write(src/**)'],
    [{ op: 'exec', program: '/usr/bin/git' }, 'Bash(git:*)'],
    [tool('db.query', { server: 'db', tool: 'query' }), 'mcp__db__query'],
  ])('X11: of a skill for %j it is %s', async (demand, word) => {
    expect(required('tools', 'skill', demand)).toBe(word)
    const { wanted } = await parsed(`allowed-tools: ${word}`, true)
    const asked = demand.op === 'read' || demand.op === 'write' ? { ...demand, path: '/p/src/a' } : demand
    expect(judgeOf(wantedLayer(wanted, { ...CONTEXT, aliases: {} }).rules)(asked)).toBe(true)
  })
})
