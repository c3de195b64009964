import { describe, expect, test } from 'vitest'
import { parseDirective } from '../../spaces/directive/parse-directive.ts'
import { readXml } from '../../spaces/directive/read-xml.ts'
import type { Permissions } from './compile-permissions.ts'
import { compilePermissions } from './compile-permissions.ts'
import { wantedLayer } from './wanted-layer.ts'

const CONTEXT = { directive: 'd', home: '/h', projectPath: '/p', servers: new Set(['db']) }
const compile = async (form: string): Promise<Permissions> =>
  compilePermissions((await readXml(`<permissions>${form}</permissions>`, 'd')).root, CONTEXT)

describe('D9: a form with an attribute that is not known grants nothing: without it, it would mean all', () => {
  test.each([
    ['<read resource="filesystem" pth="src/**"/>', 'it has no attribute "pth": "path" is probably meant'],
    ['<write resource="fs" name="src/**"/>', 'it has no attribute "name"'],
    ['<execute resource="mcp" name="db" tool="query"/>', '"tool": "tools" is probably meant'],
    ['<execute resource="db" actons="query"/>', '"actons": "actions" is probably meant'],
    ['<filesystem><write pathes="out/**"/></filesystem>', '"pathes": "paths" is probably meant'],
    ['<execute resource="tool" tool_type="bash" ids="x"/>', '"ids": "id" is probably meant'],
    ['<read resource="knowledge" pat="a"/>', '"pat": "path" is probably meant'],
    ['<execute resource="http" methods="GET" domains="a.org"/>', 'it has no attribute "methods"'],
  ])('D9: %s', async (form, why) => {
    const { permissions, reports } = await compile(form)
    expect(permissions).toEqual([])
    expect(reports).toEqual([expect.stringContaining(why)])
  })

  test('D9: a remark is none of them', async () => {
    const { permissions, reports } = await compile('<read resource="fs" path="a" reason="to look" why="so"/>')
    expect(reports).toEqual([])
    expect(permissions).toHaveLength(2)
  })

  test('D9: below deny it would take away other than was meant, and is refused', async () => {
    await expect(compile('<deny><write resource="fs" pth="a"/></deny>')).rejects.toThrow('no attribute "pth"')
  })

  test('D1, D8: in YAML it is a key; among wanted tools it is said', async () => {
    const text = [
      '---',
      'name: d',
      'permissions:',
      '  - read: {resource: filesystem, pth: a}',
      'tools:',
      '  - shell: {comands: [git]}',
      '---',
      'text',
    ].join('\n')
    const { directive } = await parseDirective(text, { where: 'd.md', stem: 'd', isSkill: false })
    expect(compilePermissions(directive.permissions ?? undefined, CONTEXT).reports).toEqual([
      'line 4: "read: {resource: filesystem, pth: a}" grants nothing: it has no key "pth": "path" is probably meant',
    ])
    expect(directive.findings.map(({ message }) => message)).toEqual([
      '"shell" has no key "comands": without effect: "commands" is probably meant',
    ])
  })

  test('D9: a word for taking away is no key of a form in YAML, and the layer of its tools knows how it is written', async () => {
    const text = '---\nname: d\npermissions:\n  - read: {resource: fs, except: a}\n---\ntext'
    const { directive } = await parseDirective(text, { where: 'd.md', stem: 'd', isSkill: false })
    expect(() => compilePermissions(directive.permissions ?? undefined, CONTEXT)).toThrow(
      'has no key "except"',
    )
    const layer = wantedLayer(directive.wanted, { ...CONTEXT, dialect: 'yaml', aliases: {} })
    expect(layer.source).toEqual({ kind: 'tools', directive: 'd', aliases: {}, dialect: 'yaml' })
    expect(layer.rules[0]?.remedy).toBe('Change "tools" of the directive "d"')
  })
})
