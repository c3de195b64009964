import { describe, expect, test } from 'vitest'
import { readXml } from '../../spaces/directive/read-xml.ts'
import type { Permissions } from './compile-permissions.ts'
import { compilePermissions } from './compile-permissions.ts'
import type { Rule } from './rule.ts'

const CONTEXT = {
  directive: 'd',
  home: '/home/me',
  projectPath: '/nowhere/p',
  servers: new Set(['supabase']),
}
const compile = async (inner: string): Promise<Permissions> =>
  compilePermissions((await readXml(`<permissions>${inner}</permissions>`, 'd')).root, CONTEXT)
const rows = (rules: readonly Rule[]): readonly object[] =>
  rules.map(({ op, match, effect }) => ({ op, effect, ...match }))
const tool = (row: object): object => ({ op: 'tool', kind: 'tool', ...row })
const KIWI = { server: null, tools: ['kiwi-mcp'] }

describe('R55: what would take a right away and is not understood is refused', () => {
  test.each([
    ['<deny><nonsense/></deny>', 'below <deny> has no effect: the form is not known'],
    ['<ask><nonsense/></ask>', 'below <ask> has no effect: the form is not known'],
    ['<deny><ask><execute resource="fly"/></ask></deny>', 'below <deny> has no effect'],
    ['<delegate><deny><execute/></deny></delegate>', 'below <deny> has no effect'],
    ['<deny><read resource="session"/></deny>', 'nothing can be denied by it'],
    ['<ask><read resource="session"/></ask>', 'nobody can be asked about it'],
    ['<deny/>', 'holds no form'],
    ['<deny>shell</deny>', 'holds no form'],
    ['<deny shell="rm"><execute resource="spawn"/></deny>', 'holds no form'],
    ['<delegate>shell</delegate>', 'holds no form'],
    ['<Deny><execute resource="spawn"/></Deny>', '<deny> was meant'],
    ['<forbid/>', '<deny> was meant'],
    ['<Ask><execute resource="spawn"/></Ask>', '<ask> was meant'],
    ['<Delegate/>', '<delegate> was meant'],
    ['<deny><permissions><execute resource="spawn"/></permissions></deny>', 'holds <execute>'],
    ['<rights><write resource="fs"/></rights>', 'holds <write>'],
    ['<deny><delegate><execute resource="spawn"/></delegate></deny>', '<delegate> was meant'],
    ['<filesystem><deny><write/></deny></filesystem>', '<deny> was meant'],
    ['<shell commands="git"><deny pattern="git push"/></shell>', '<deny> was meant'],
    ['<network><except hosts="a.org"/></network>', '<deny> was meant'],
    ['<write resource="fs" except="a/**"/>', 'has no attribute "except"'],
    ['<deny><execute resource="tool" id="filesystem.fly"/></deny>', '"fly" is no operation on files'],
    ['<deny><execute resource="tool" id="shell.exec"/></deny>', '"exec" is none of the shell: run'],
    [
      '<deny><execute resource="mcp" name="filesystem" tools="fly"/></deny>',
      '"fly" is no operation on files',
    ],
    ['<deny><execute><tool>filesystem.fly</tool></execute></deny>', '"fly" is no operation on files'],
    ['<deny><execute resource="shell" commands="git push, curl | sh"/></deny>', '"curl | sh" holds |'],
    ['<ask><shell><command pattern="a; b"/></shell></ask>', '"a; b" holds ;'],
    ['<deny><execute resource="tool" tool_type="scirpt"/></deny>', '"scirpt" is no type of tool'],
    ['<deny><execute resource="kiwi" actions="create, fly"/></deny>', '"fly" is no action'],
  ])('R55: %s', async (text, reason) => {
    await expect(compile(`\n${text}`)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining(reason),
      details: { line: 2 },
    })
  })

  test.each<[string, readonly object[]]>([
    [
      '<execute resource="tool" id="filesystem.write_file"/>',
      [
        tool({ server: null, tools: ['filesystem.write_file'], actions: ['run'] }),
        tool({ server: 'filesystem', tools: ['write'], actions: ['run'] }),
      ],
    ],
    [
      '<execute resource="tool" id="shell.*, shell.run, x"/>',
      [
        tool({ server: null, tools: ['shell.*'], actions: ['run'] }),
        tool({ server: 'shell', tools: ['*'], actions: ['run'] }),
        tool({ server: null, tools: ['shell.run'], actions: ['run'] }),
        tool({ server: 'shell', tools: ['run'], actions: ['run'] }),
        tool({ server: null, tools: ['x'], actions: ['run'] }),
      ],
    ],
    [
      '<execute><tool>supabase.drop</tool></execute>',
      [
        tool({ server: null, tools: ['supabase/drop'], actions: ['run'] }),
        tool({ server: null, tools: ['supabase.drop'], actions: ['run'] }),
        tool({ server: 'supabase', tools: ['drop'], actions: ['run'] }),
      ],
    ],
    ['<execute resource="mcp" name="shell"/>', [tool({ server: 'shell' })]],
    [
      '<execute resource="tool" tool_type="script"/>',
      [tool({ server: null, types: ['script'], tools: ['*'], actions: ['run'] })],
    ],
    [
      '<execute resource="kiwi" action="*"/>',
      [
        tool({ ...KIWI, actions: ['search', 'load', 'help'] }),
        tool({ actions: 'create update delete publish sign copy rollback discover'.split(' ') }),
      ],
    ],
  ])('R55: what is denied is denied under every name it has: %s', async (text, wanted) => {
    const { permissions, reports } = await compile(`<deny>${text}</deny>`)
    expect(reports).toEqual([])
    expect(rows(permissions)).toEqual(wanted.map((row) => ({ ...row, effect: 'deny' })))
  })

  test('R55: a variable that is denied is not asked for, wherever else it stands', async () => {
    const env = '<read resource="env" var="X, Y"/>'
    const { secrets } = await compile(`${env}<deny><read resource="env" var="X"/></deny>`)
    expect(secrets).toEqual(['Y'])
  })

  test('R51: to hand on nothing is said by a block that holds nothing', async () => {
    expect((await compile('<delegate/>')).delegate).toEqual([])
  })
})
