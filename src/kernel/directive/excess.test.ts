import { expect, test } from 'vitest'
import { readXml } from '../../spaces/directive/read-xml.ts'
import { skillTools } from '../../spaces/directive/skill-tools.ts'
import { readWanted } from '../../spaces/directive/wanted.ts'
import { compilePermissions } from '../policy/compile-permissions.ts'
import { excessOf } from './excess.ts'

const CONTEXT = { directive: 'd', projectPath: '/p', home: '/h' }

async function excess(permissions: string, tools: string): Promise<readonly (readonly [string, string])[]> {
  const { root: block } = await readXml(`<permissions>${permissions}</permissions>`, 'd')
  const { root } = await readXml(`<tools>${tools}</tools>`, 'd')
  const { permissions: rules } = compilePermissions(block, { ...CONTEXT, servers: new Set(['s']) })
  const found = excessOf(
    readWanted([root], 'd', () => undefined),
    rules,
    CONTEXT,
  )
  return found.map(({ wanted, required }) => [wanted, required])
}

test.each<[string, string, string, (readonly [string, string])[]]>([
  [
    'a tool that is granted',
    '<execute resource="mcp" name="s" tools="a,b*"/>',
    '<mcp name="s"><tool>a</tool><tool>bc</tool></mcp>',
    [],
  ],
  [
    'a tool that is asked about',
    '<ask><execute resource="s" action="a"/></ask>',
    '<mcp name="s" tools="a"/>',
    [],
  ],
  [
    'a tool that is not',
    '<execute resource="s" action="a"/>',
    '<mcp name="s" tools="a,b"/>',
    [['s.b', '<execute resource="mcp" name="s" tools="b"/>']],
  ],
  [
    'a tool that is denied',
    '<execute resource="s"/><deny><execute resource="s" action="a"/></deny>',
    '<mcp name="s" tools="a,b"/>',
    [['s.a', '<execute resource="mcp" name="s" tools="a"/>']],
  ],
  [
    'all tools of a server of which some are granted',
    '<execute resource="s" action="a"/>',
    '<mcp name="mcp_s"/>',
    [],
  ],
  [
    'all tools of a server of which none is',
    '',
    '<mcp name="s"/>',
    [['s', '<execute resource="mcp" name="s" tools="*"/>']],
  ],
  [
    'files through the name of a server',
    '<read resource="filesystem" path="a/**"/>',
    '<mcp name="filesystem" tools="read_file,write_file"/>',
    [['filesystem.write_file', '<write resource="filesystem" path="**/*"/>']],
  ],
  [
    'paths within others',
    '<read resource="filesystem" path="src/**"/><write resource="filesystem" path="out"/>',
    '<filesystem><read paths="src/a/**,src/*.ts,src/b.ts"/><write paths="out/x"/></filesystem>',
    [],
  ],
  [
    'paths around others',
    '<read resource="filesystem" path="src/a/**"/>',
    '<filesystem><read paths="src/**"/></filesystem>',
    [['read src/**', '<read resource="filesystem" path="src/**"/>']],
  ],
  [
    'any path',
    '<read resource="filesystem" path="src/**"/>',
    '<filesystem><read/></filesystem>',
    [['read **/*', '<read resource="filesystem" path="**/*"/>']],
  ],
  [
    'programs',
    '<execute resource="shell" commands="git"/><shell><command pattern="npm install *"/></shell><deny><shell><command pattern="git push *"/></shell></deny>',
    '<shell commands="git,npm,rm"/>',
    [['shell rm', '<execute resource="shell" commands="rm"/>']],
  ],
  [
    'commands',
    '<execute resource="shell" commands="git,npm test"/>',
    '<shell commands="git status,npm test,npm publish"/>',
    [['shell npm publish', '<execute resource="shell" commands="npm"/>']],
  ],
  [
    'tools of Kiwi',
    '<execute resource="kiwi" action="search"/>',
    '<kiwi><search/><load/><execute actions="run,create"/></kiwi>',
    [
      ['kiwi load', '<execute resource="kiwi-mcp" action="load"/>'],
      ['kiwi create', '<kiwi><execute actions="create"/></kiwi>'],
    ],
  ],
  ['a script', '', '<script name="x"/>', []],
  ['nothing', '', '', []],
])('D10: %s', async (_, permissions, tools, expected) => {
  expect(await excess(permissions, tools)).toEqual(expected)
})

test('D10: a skill that wants to read is content with any grant to read', async () => {
  const { root: block } = await readXml(
    '<permissions><read resource="filesystem" path="notes/**"/></permissions>',
    'd',
  )
  const { permissions: rules } = compilePermissions(block, { ...CONTEXT, servers: new Set() })
  const wanted = (tools: string) => skillTools(tools, { line: 1, column: 1 }, () => undefined)
  const beyond = (tools: string) =>
    excessOf(wanted(tools), rules, { ...CONTEXT, dialect: 'skill' }).map((one) => one.wanted)
  expect(beyond('Read Grep')).toEqual([])
  expect(beyond('Read(src/**) Write')).toEqual(['read src/**', 'write **/*'])
})
