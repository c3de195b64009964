import { describe, expect, test } from 'vitest'
import type { Permissions } from './compile-permissions.ts'
import { readXml } from '../../spaces/directive/read-xml.ts'
import { compilePermissions } from './compile-permissions.ts'
import { decide } from './decide.ts'
import { plainLayer } from './layer.ts'
import type { Demand, Rule, Verdict } from './rule.ts'

const CONTEXT = {
  directive: 'deploy',
  home: '/home/me',
  projectPath: '/nowhere/p',
  servers: new Set(['supabase']),
}
const compile = async (
  inner: string,
  projectPath: string | null = CONTEXT.projectPath,
): Promise<Permissions> =>
  compilePermissions((await readXml(`<permissions>${inner}</permissions>`, 'deploy')).root, {
    ...CONTEXT,
    projectPath,
  })
const rows = (rules: readonly Rule[]): readonly object[] =>
  rules.map(({ op, match, effect }) => ({ op, effect, ...match }))
const FILES = { op: 'tool', kind: 'tool', server: 'filesystem' }
const READ = { ...FILES, effect: 'allow', tools: ['read', 'list', 'stat', 'search'] }
const WRITE = { ...FILES, effect: 'allow', tools: ['write', 'create', 'delete', 'move'] }
const SHELL = { op: 'tool', kind: 'tool', server: 'shell', tools: ['run'], effect: 'allow' }
const below = (op: string, root: string, glob: string): object => ({
  op,
  kind: 'path',
  root,
  globs: [glob],
  effect: 'allow',
})
const allowed = (row: object): object => ({ effect: 'allow', ...row })
const tool = (row: object): object => ({ op: 'tool', kind: 'tool', effect: 'allow', ...row })
const net = (row: object): object => ({ op: 'net', kind: 'host', effect: 'allow', ...row })
const KIWI = { server: null, tools: ['kiwi-mcp'] }

describe('D9: every written form equals its row', () => {
  test.each<[string, readonly object[]]>([
    ['<read resource="filesystem" path="src/**"/>', [below('read', '/nowhere/p/src', '**'), READ]],
    ['<read resource="fs"/>', [below('read', '/nowhere/p', '**'), READ]],
    [
      '<read resource="files" path="a, ~/b"/>',
      [
        allowed({ op: 'read', kind: 'under', paths: ['/nowhere/p/a'] }),
        allowed({ op: 'read', kind: 'under', paths: ['/home/me/b'] }),
        READ,
      ],
    ],
    [
      '<write resource="fs"/><write resource="files"/>',
      [below('write', '/nowhere/p', '**'), WRITE, below('write', '/nowhere/p', '**'), WRITE],
    ],
    [
      '<write resource="network" endpoint="a.org"/><read resource="api" endpoint="b.org"/>',
      [
        net({ hosts: ['a.org'], methods: ['POST', 'PUT', 'PATCH', 'DELETE'] }),
        net({ hosts: ['b.org'], methods: ['GET', 'HEAD', 'OPTIONS'] }),
      ],
    ],
    ['<write resource="filesystem" path="dist/*.js"/>', [below('write', '/nowhere/p/dist', '*.js'), WRITE]],
    [
      '<execute resource="shell" commands="git, npm"/>',
      [allowed({ op: 'exec', kind: 'program', names: ['git', 'npm'] }), SHELL],
    ],
    [
      '<execute resource="shell" command="git"/>',
      [allowed({ op: 'exec', kind: 'program', names: ['git'] }), SHELL],
    ],
    [
      '<execute resource="shell" action="git"/>',
      [allowed({ op: 'exec', kind: 'program', names: ['git'] }), SHELL],
    ],
    [
      '<execute resource="mcp" name="supabase" tools="a,b"/>',
      [tool({ server: 'supabase', tools: ['a', 'b'] })],
    ],
    [
      '<execute resource="mcp" name="mcp_supabase" actions="a"/>',
      [tool({ server: 'supabase', tools: ['a'] })],
    ],
    ['<execute resource="mcp" name="supabase"/>', [tool({ server: 'supabase' })]],
    [
      '<execute resource="supabase" action="apply_migration"/>',
      [tool({ server: 'supabase', tools: ['apply_migration'] })],
    ],
    ['<execute resource="supabase" action="*"/>', [tool({ server: 'supabase' })]],
    ['<execute resource="mcp:linear"/>', [tool({ server: 'linear' })]],
    ['<execute resource="git" action="status"/>', [tool({ server: 'git', tools: ['status'] })]],
    ['<execute resource="tool" id="x"/>', [tool({ server: null, tools: ['x'], actions: ['run'] })]],
    [
      '<execute resource="tool" tool_id="a.b"/>',
      [
        tool({ server: null, tools: ['a.b'], actions: ['run'] }),
        tool({ server: 'a', tools: ['b'], actions: ['run'] }),
      ],
    ],
    [
      '<execute resource="tool" tool_type="script"/>',
      [tool({ server: null, types: ['script'], tools: ['*'], actions: ['run'] })],
    ],
    ['<execute resource="kiwi-mcp" action="search"/>', [tool({ ...KIWI, actions: ['search'] })]],
    ['<execute resource="kiwi" action="*"/>', [tool({ ...KIWI, actions: ['search', 'load', 'help'] })]],
    [
      '<kiwi><execute actions="create"/><load/></kiwi>',
      [tool({ actions: ['create'] }), tool({ ...KIWI, actions: ['load'] })],
    ],
    ['<execute resource="registry" action="read"/>', [tool({ ...KIWI, actions: ['load'] })]],
    ['<execute resource="registry" action="write"/>', [tool({ actions: ['publish'] })]],
    [
      '<read resource="registry"/><write resource="registry"/>',
      [tool({ ...KIWI, actions: ['load'] }), tool({ actions: ['publish'] })],
    ],
    [
      '<execute resource="sampling" name="mcp_github, supabase"/>',
      ['github', 'supabase'].map((server) => tool({ server, actions: ['sample'] })),
    ],
    ['<execute resource="spawn" action="thread"/>', [allowed({ op: 'spawn', kind: 'any' })]],
    [
      '<execute resource="http" action="get" domains="*.example.org"/>',
      [net({ hosts: ['*.example.org'], methods: ['GET'] })],
    ],
    ['<execute resource="http" domains="a.org"/>', [net({ hosts: ['a.org'] })]],
    [
      '<read resource="network" endpoint="https://a.org/x?y"/>',
      [net({ hosts: ['a.org'], methods: ['GET', 'HEAD', 'OPTIONS'] })],
    ],
    [
      '<write resource="api" endpoint="a.org"/>',
      [net({ hosts: ['a.org'], methods: ['POST', 'PUT', 'PATCH', 'DELETE'] })],
    ],
    ['<read resource="session"/>', []],
    [
      '<read resource="knowledge" path="x"/>',
      [
        tool({ ...KIWI, actions: ['load'] }),
        tool({ server: null, types: ['knowledge'], tools: ['x'], actions: ['run'] }),
      ],
    ],
    [
      '<read resource="knowledge"/>',
      [
        tool({ ...KIWI, actions: ['load'] }),
        tool({ server: null, types: ['knowledge'], tools: ['*'], actions: ['run'] }),
      ],
    ],
    [
      '<filesystem><read paths="a"/></filesystem>',
      [allowed({ op: 'read', kind: 'under', paths: ['/nowhere/p/a'] }), READ],
    ],
    [
      '<filesystem><write paths="a"/></filesystem>',
      [allowed({ op: 'write', kind: 'under', paths: ['/nowhere/p/a'] }), WRITE],
    ],
    [
      '<filesystem><delete paths="a"/></filesystem>',
      [allowed({ op: 'write', kind: 'under', paths: ['/nowhere/p/a'] }), { ...WRITE, tools: ['delete'] }],
    ],
    [
      '<shell commands="git"><command pattern="npm install *"/><command>ls</command></shell>',
      [
        allowed({ op: 'exec', kind: 'program', names: ['git'] }),
        SHELL,
        allowed({ op: 'exec', kind: 'prefix', words: ['npm', 'install', '*'] }),
        SHELL,
        allowed({ op: 'exec', kind: 'prefix', words: ['ls'] }),
        SHELL,
      ],
    ],
    [
      '<execute resource="shell" commands="git, git status,npm run *"/>',
      [
        allowed({ op: 'exec', kind: 'program', names: ['git'] }),
        allowed({ op: 'exec', kind: 'prefix', words: ['git', 'status'] }),
        allowed({ op: 'exec', kind: 'prefix', words: ['npm', 'run', '*'] }),
        SHELL,
      ],
    ],
    [
      '<execute resource="shell" commands="git status"/>',
      [allowed({ op: 'exec', kind: 'prefix', words: ['git', 'status'] }), SHELL],
    ],
    [
      '<execute resource="mcp" name="supabase, github" tools="a"/>',
      ['supabase', 'github'].map((server) => tool({ server, tools: ['a'] })),
    ],
    ['<execute resource="supabase,mcp:linear"/>', ['supabase', 'linear'].map((server) => tool({ server }))],
    ['<network><fetch hosts="a.org"/></network>', [net({ hosts: ['a.org'], methods: ['GET', 'HEAD'] })]],
    ['<execute><tool>a.b.*</tool></execute>', [tool({ server: null, tools: ['a/b/*'], actions: ['run'] })]],
    [
      '<execute><directive>x</directive></execute>',
      [
        tool({ server: null, tools: ['x'], actions: ['run'], types: ['directive'] }),
        allowed({ op: 'spawn', kind: 'directive', names: ['x'] }),
      ],
    ],
    ['<execute>*</execute>', [tool({ server: null, tools: ['*'], actions: ['run'] })]],
    ['<sign><tool>a/b</tool></sign>', [tool({ server: null, tools: ['a/b'], actions: ['sign'] })]],
    [
      '<search>*</search><fetch><tool>x</tool></fetch>',
      [tool({ ...KIWI, actions: ['search'] }), tool({ ...KIWI, actions: ['load'] })],
    ],
    [
      '<ask><execute resource="supabase" action="a"/></ask>',
      [{ ...tool({ server: 'supabase', tools: ['a'] }), effect: 'ask' }],
    ],
    [
      '<ask><write resource="filesystem" path="a"/></ask>',
      [{ op: 'write', kind: 'under', paths: ['/nowhere/p/a'], effect: 'ask' }, WRITE],
    ],
    [
      '<deny><write resource="filesystem" path="a"/></deny>',
      [{ op: 'write', kind: 'under', paths: ['/nowhere/p/a'], effect: 'deny' }],
    ],
    ['<deny><ask><execute resource="spawn"/></ask></deny>', [{ op: 'spawn', kind: 'any', effect: 'deny' }]],
  ])('D9: %s', async (text, wanted) => {
    const { permissions, reports, delegate } = await compile(text)
    expect(reports).toEqual([])
    expect(rows(permissions)).toEqual(wanted)
    expect(delegate).toBeNull()
  })

  test('R56: the server called filesystem is our own, so that grants of paths apply; the other is mcp_filesystem', async () => {
    const { permissions } = await compile(
      '<execute resource="mcp" name="filesystem" tools="read_file,list_directory"/><execute resource="mcp" name="mcp_filesystem"/>',
    )
    expect(rows(permissions)).toEqual([
      tool({ server: 'filesystem', tools: ['read', 'list'] }),
      tool({ server: 'mcp_filesystem' }),
    ])
  })

  test('R51: what may be handed on is kept apart', async () => {
    const { permissions, delegate } = await compile(
      '<read resource="filesystem" path="a"/><delegate><write resource="filesystem" path="a"/></delegate>',
    )
    expect(permissions.map(({ id }) => id)).toEqual(['deploy/read/1', 'deploy/tool/2'])
    expect(delegate?.map(({ id }) => id)).toEqual(['deploy/delegate.write/1', 'deploy/delegate.tool/2'])
  })

  test('a variable is a request that only a person grants', async () => {
    const { permissions, secrets } = await compile(
      '<read resource="env" var="X"/><environment><variable name="Y" access="read"/><variable/></environment><deny><read resource="env" var="Z"/></deny>',
    )
    expect(permissions).toEqual([])
    expect(secrets).toEqual(['X', 'Y'])
  })
})

describe('R55: what is not understood grants nothing, and is said', () => {
  test.each([
    '<execute resource="python" module="x"/>',
    '<execute resource="browser"/>',
    '<read resource="channel"/>',
    '<write resource="llm"/>',
    '<allow type="x" scope="y"/>',
    '<execute resource="shell"/>',
    '<execute resource="mcp"/>',
    '<execute resource="mcp" name="a.b"/>',
    '<execute resource="mcp" name="a" tools="{a,b}"/>',
    '<execute resource="tool"/>',
    '<execute resource="sampling"/>',
    '<execute resource="sampling" name="a.b"/>',
    '<execute resource="kiwi-mcp"/>',
    '<execute resource="kiwi-mcp" action="execute"/>',
    '<execute resource="http"/>',
    '<execute resource="http" domains="[a]"/>',
    '<execute resource="registry"/>',
    '<execute resource="registry" action="fly"/>',
    '<read resource="env"/>',
    '<read resource="filesystem" path="../x"/>',
    '<filesystem/>',
    '<filesystem><fly/></filesystem>',
    '<kiwi/>',
    '<shell><command/></shell>',
    '<network><fetch/></network>',
    '<environment/>',
    '<execute other="x"/>',
    '<execute/>',
    '<execute><service>x</service></execute>',
    '<execute><tool/></execute>',
    '<search/>',
    '<nonsense/>',
  ])('R55: %s', async (text) => {
    const { permissions, secrets, reports } = await compile(`\n${text}`)
    expect(permissions).toEqual([])
    expect(secrets).toEqual([])
    expect(reports).toEqual([expect.stringMatching(/^line 2: <[^]* grants nothing: /)])
  })

  test('without a project a relative path stands for nothing', async () => {
    const { permissions, reports } = await compile('<read resource="fs"/>', null)
    expect(permissions).toEqual([])
    expect(reports).toEqual([expect.stringContaining('lies in a project')])
  })

  test('D9: a directive without permissions may do nothing', () => {
    expect(compilePermissions(undefined, CONTEXT)).toEqual({
      permissions: [],
      delegate: null,
      secrets: [],
      reports: [],
    })
  })
})

describe('D9: each of the operations on files is refused without its grant', () => {
  const judge = async (text: string, operation: string, op: 'read' | 'write'): Promise<Verdict> => {
    const { permissions } = await compile(text)
    const source = { kind: 'directive', directive: 'deploy', element: 'permissions' } as const
    const layer = plainLayer({ name: 'directive deploy', source, rules: permissions }, false)
    const demands: readonly Demand[] = [
      {
        op: 'tool',
        id: `filesystem.${operation}`,
        action: 'run',
        of: { server: 'filesystem', tool: operation },
      },
      { op, path: '/nowhere/p/a', isChosen: true },
    ]
    return decide([layer], demands, {})
  }
  test.each([
    ['read', 'read'],
    ['list', 'read'],
    ['write', 'write'],
    ['create', 'write'],
    ['delete', 'write'],
    ['move', 'write'],
  ] as const)('D9, FS-09: %s', async (operation, right) => {
    const grant = `<${right} resource="filesystem"/>`
    const other = `<${right === 'read' ? 'write' : 'read'} resource="filesystem"/>`
    expect(await judge(grant, operation, right)).toMatchObject({ effect: 'allow' })
    for (const text of ['', other, `<${right} resource="filesystem" path="b/**"/>`])
      expect(await judge(text, operation, right)).toMatchObject({
        effect: 'deny',
        layer: 'directive deploy',
        rule: null,
        required: `<${right} resource="filesystem" path="/nowhere/p/a"/>`,
      })
    expect(await judge(grant, 'fly', right)).toMatchObject({ effect: 'deny' })
  })
})
