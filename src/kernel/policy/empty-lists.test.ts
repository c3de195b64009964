import { describe, expect, test } from 'vitest'
import type { Directive } from '../../spaces/directive/model.ts'
import { parseDirective } from '../../spaces/directive/parse-directive.ts'
import { readXml } from '../../spaces/directive/read-xml.ts'
import { compilePermissions } from './compile-permissions.ts'

const CONTEXT = { directive: 'd', home: '/h', projectPath: '/p', servers: new Set(['db']) }
const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }
const matter = async (front: string): Promise<Directive> =>
  (await parseDirective(`---\nname: d\n${front}\n---\ntext\n`, ORIGIN)).directive

describe('a list that is empty names nothing, which is not the same as no list', () => {
  test.each([
    ['<read resource="filesystem" path=""/>', 'path'],
    ['<write resource="filesystem" path=" , "/>', 'path'],
    ['<execute resource="mcp" name="db" tools=""/>', 'tools'],
    ['<execute resource="db" action=""/>', 'action'],
    ['<filesystem><write paths=""/></filesystem>', 'paths'],
    ['<execute resource="tool" tool_type="bash" id=""/>', 'id'],
    ['<read resource="knowledge" path=""/>', 'path'],
    ['<execute resource="http" action="" domains="a.org"/>', 'action'],
  ])('D9: %s grants nothing, and that is said', async (form, key) => {
    const { root } = await readXml(`<permissions>${form}</permissions>`, 'd')
    expect(compilePermissions(root, CONTEXT)).toMatchObject({
      permissions: [],
      reports: [expect.stringContaining(`grants nothing: its ${key} is empty`)],
    })
  })

  test.each([
    '- execute: {resource: mcp, name: db, tools: []}',
    '- read: {resource: filesystem, path: }',
    '- filesystem: {write: []}',
  ])('D9: %s grants nothing, and that is said', async (line) => {
    const { permissions } = await matter(`permissions:\n  ${line}`)
    expect(compilePermissions(permissions ?? undefined, CONTEXT)).toMatchObject({
      permissions: [],
      reports: [expect.stringContaining('is empty')],
    })
  })

  test('D9: below deny it would take nothing away, and is refused', async () => {
    const { root } = await readXml(
      '<permissions><deny><read resource="fs" path=""/></deny></permissions>',
      'd',
    )
    expect(() => compilePermissions(root, CONTEXT)).toThrow('has no effect: its path is empty')
  })

  test('D4, D8: wanted like that, nothing is wanted', async () => {
    const { wanted } = await matter('tools:\n  - mcp: {name: db, tools: []}\n  - filesystem: {read: []}')
    expect(wanted).toMatchObject({
      servers: [{ name: 'db', tools: [] }],
      filesystem: { read: [], write: [] },
    })
    const all = await matter('tools:\n  - mcp: {name: db}\n  - filesystem: {read: }')
    expect(all.wanted).toMatchObject({ servers: [{ tools: null }], filesystem: { read: ['**/*'] } })
  })
})
