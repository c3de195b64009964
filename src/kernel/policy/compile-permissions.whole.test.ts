import { describe, expect, test } from 'vitest'
import { readXml } from '../../spaces/directive/read-xml.ts'
import type { Permissions } from './compile-permissions.ts'
import { compilePermissions } from './compile-permissions.ts'
import type { Rule } from './rule.ts'

const compile = async (inner: string): Promise<Permissions> =>
  compilePermissions((await readXml(`<permissions>${inner}</permissions>`, 'deploy')).root, {
    directive: 'deploy',
    home: '/home/me',
    projectPath: '/nowhere/p',
    servers: new Set(['supabase']),
  })
const rows = (rules: readonly Rule[]): readonly object[] =>
  rules.map(({ op, match, effect }) => ({ op, effect, ...match }))
const tool = (row: object): object => ({ op: 'tool', kind: 'tool', ...row })
const net = (row: object): object => ({ op: 'net', kind: 'host', ...row })

describe('D9: what is denied is denied in all that is written', () => {
  const denied = (row: object): object => ({ ...row, effect: 'deny' })
  const server = (name: string, tools?: readonly string[]): object =>
    denied(tool({ server: name, ...(tools === undefined ? {} : { tools }) }))
  const command = (pattern: string): object => denied({ op: 'exec', kind: 'command', patterns: [pattern] })
  test.each<[string, readonly object[]]>([
    ['<execute resource="mcp" name="supabase,github"/>', [server('supabase'), server('github')]],
    [
      '<execute resource="supabase,mcp:github" action="a"/>',
      [server('supabase', ['a']), server('github', ['a'])],
    ],
    ['<execute resource="mcp" name="supabase" tools="a" actions="b"/>', [server('supabase', ['a', 'b'])]],
    ['<execute resource="shell" commands="git push, rm  -rf"/>', [command('git push'), command('rm -rf')]],
    [
      '<execute resource="shell" commands="git" command="npm"/>',
      [denied({ op: 'exec', kind: 'program', names: ['git', 'npm'] })],
    ],
    [
      '<shell commands="git push"><command pattern="npm install *"/></shell>',
      [command('git push'), command('npm install *')],
    ],
    [
      '<read resource="filesystem" path="a" paths="b"/>',
      ['a', 'b'].map((name) => denied({ op: 'read', kind: 'under', paths: [`/nowhere/p/${name}`] })),
    ],
    [
      '<filesystem><write paths="a" path="b"/></filesystem>',
      ['a', 'b'].map((name) => denied({ op: 'write', kind: 'under', paths: [`/nowhere/p/${name}`] })),
    ],
    [
      '<execute resource="http" domains="a.org" hosts="b.org"/>',
      [denied(net({ hosts: ['a.org', 'b.org'] }))],
    ],
    [
      '<network><fetch hosts="a.org" domains="b.org"/></network>',
      [denied(net({ hosts: ['a.org', 'b.org'], methods: ['GET', 'HEAD'] }))],
    ],
    [
      '<kiwi><execute actions="create" action="delete"/></kiwi>',
      [denied(tool({ actions: ['create', 'delete'] }))],
    ],
    [
      '<execute resource="tool" id="a" tool_id="b"/>',
      ['a', 'b'].map((id) => denied(tool({ server: null, tools: [id], actions: ['run'] }))),
    ],
  ])('D9: %s', async (text, wanted) => {
    expect(rows((await compile(`<deny>${text}</deny>`)).permissions)).toEqual(wanted)
  })

  test.each(['filesystem,nonsense', 'nonsense,filesystem'])(
    'D9: where one of several resources is none, as in "%s", it is refused',
    async (resource) => {
      const text = `<deny><read resource="${resource}" path="a"/></deny>`
      await expect(compile(text)).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    },
  )
})

describe('D9: what grants nothing says what was probably meant', () => {
  test.each([
    ['<Read resource="filesystem" path="a"/>', 'the form is not known: <read> is probably meant'],
    [
      '<read resource="Filesystem" path="a"/>',
      'there is no such resource or server: "filesystem" is probably meant',
    ],
    [
      '<execute resource="shel" commands="git"/>',
      'there is no such resource or server: "shell" is probably meant',
    ],
    ['<read path="src/**"/>', 'it names no resource: resource="filesystem" is probably meant'],
    ['<execute commands="git"/>', 'it names no resource: resource="shell" is probably meant'],
    ['<execute name="supabase" tools="a"/>', 'it names no resource: resource="mcp" is probably meant'],
    ['<execute tool_id="a"/>', 'it names no resource: resource="tool" is probably meant'],
    ['<write reason="none"/>', 'it names no resource'],
    [
      '<read>src/**</read>',
      'it names no resource: <read resource="filesystem" path="src/**"/> is probably meant',
    ],
    ['<execute resource="mcp" name="supabase,a.b"/>', 'its name holds a dot, which no server has'],
  ])('D9: %s', async (text, why) => {
    const { permissions, reports } = await compile(text)
    expect(permissions).toEqual([])
    expect(reports).toEqual([expect.stringContaining(`grants nothing: ${why}`)])
  })

  test.each(['read', 'write'])('D9: a server is nothing to %s', async (right) => {
    const { reports } = await compile(`<${right} resource="supabase"/>`)
    expect(reports).toEqual([expect.stringContaining(`there is no such resource to ${right}`)])
  })

  test('D9: a form in YAML', () => {
    const form = {
      name: 'reed',
      attributes: {},
      children: [],
      text: '',
      inner: '',
      isData: true,
      line: 2,
      column: 1,
    } as const
    const block = { ...form, name: 'permissions', children: [form] }
    const context = {
      directive: 'd',
      dialect: 'yaml',
      home: '/h',
      projectPath: null,
      servers: new Set<string>(),
    } as const
    expect(compilePermissions(block, context).reports).toEqual([
      expect.stringContaining('the form is not known: "read" is probably meant'),
    ])
    const bare = { ...form, name: 'read', text: 'src/**' }
    const keyed = { ...form, name: 'write', attributes: { path: 'a' } }
    expect(compilePermissions({ ...block, children: [bare, keyed] }, context).reports).toEqual([
      expect.stringContaining(
        'no resource: - read: {resource: filesystem, path: "src/**"} is probably meant',
      ),
      expect.stringContaining('no resource: "resource: filesystem" is probably meant'),
    ])
    expect(compilePermissions({ ...block, children: [], text: 'all' }, context).reports).toEqual([
      'line 2: the text "all" in "permissions" grants nothing',
    ])
  })

  test('D9: a text between the forms', async () => {
    const { permissions, reports } = await compile('\n*\n<read resource="filesystem" path="a"/>')
    expect(permissions).toHaveLength(2)
    expect(reports).toEqual(['line 1: the text "*" in <permissions> grants nothing'])
  })
})
