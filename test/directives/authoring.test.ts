import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const act = (action: string, item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'directive', action, item_id, ...more })
const directive = (id: string, inner: string, attributes = ''): string =>
  temp.write(
    `directives/${id}.md`,
    `# ${id}\n\n\`\`\`xml\n<directive name="${id}" version="1.0.0"${attributes}>\n<metadata><description>does ${id}</description><category>x</category>\n${inner}\n</directive>\n\`\`\`\n`,
  )
const SEEDS = join(import.meta.dirname, '../fixtures/seeds/directives')

describe('D10: tools beyond permissions', () => {
  const WANTS =
    '<permissions><execute resource="mcp" name="supabase" tools="apply_migration"/></permissions>\n' +
    '<tools><mcp name="supabase"><tool>apply_migration</tool><tool>delete_project</tool></mcp></tools></metadata>'

  test.each(['sign', 'publish'])('D10: %s refuses them with the grant to paste', async (action) => {
    directive('drops', WANTS)
    const { error } = await act(action, 'drops')
    expect(error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: `Cannot ${action} "drops": its tools go beyond its permissions: supabase.delete_project`,
      hint: 'Add to <permissions>: <execute resource="mcp" name="supabase" tools="delete_project"/>',
    })
    directive('drops', WANTS.replace('tools="apply_migration"', 'tools="apply_migration,delete_project"'))
    expect((await act(action, 'drops')).error).toBeNull()
  })

  test('D10: create refuses them too, and nothing is written', async () => {
    const text = readFileSync(join(SEEDS, 'deploy_feature.md'), 'utf8')
    const made = await act('create', 'deploy_feature', { parameters: { content: text } })
    expect(made.error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { required: ['<execute resource="mcp" name="supabase" tools="get_project"/>'] },
    })
    expect((await act('run', 'deploy_feature')).error?.code).toBe('NOT_FOUND')
  })

  test('X11, D10: what a skill asks for is held against nobody, and gives it nothing', async () => {
    temp.write(
      'directives/docs/pdf-forms/SKILL.md',
      '---\nname: pdf-forms\nversion: 1.0.0\ndescription: Fills in forms\nallowed-tools: Read Bash(git:*)\n---\nDo it.\n',
    )
    expect((await act('sign', 'pdf-forms')).error).toBeNull()
    expect(await act('run', 'pdf-forms')).toMatchObject({
      status: 'ready',
      data: { permissions: { granted: [] } },
    })
  })

  test('R55: a script among the tools is its own grant', async () => {
    directive('scripts', '<tools><script name="hello_bash"/></tools></metadata>')
    expect((await act('sign', 'scripts')).error).toBeNull()
  })
})

describe('D1: a directive that cannot be read', () => {
  const BROKEN = '</metadata><process><step name="a">a & b</step></process>'

  test('D1: is found, and refused with its line and a repair when it is run or signed', async () => {
    directive('broken', BROKEN)
    const found = await temp.search('broken', { item_type: 'directive' })
    expect(JSON.stringify(found.data)).toContain('broken')
    for (const action of ['run', 'sign'])
      expect((await act(action, 'broken')).error).toMatchObject({
        code: 'PARSE_ERROR',
        message: expect.stringContaining('(line 6, column 38)'),
        hint: expect.stringContaining('a &amp; b'),
        details: { line: 6, column: 38 },
      })
  })

  test('D1: one over 256 kB is found and not run', async () => {
    directive('large', `</metadata><process>${'x'.repeat(5 * 1024 * 1024)}</process>`)
    expect(JSON.stringify((await temp.search('large', { item_type: 'directive' })).data)).toContain('large')
    expect((await act('run', 'large')).error?.code).toBe('MESSAGE_TOO_LARGE')
  })
})

test('D2: inputs of XML are parameters of the item: search and load show them', async () => {
  directive('asks', '</metadata><inputs><input name="tag" required="true">Which</input></inputs>')
  const { data } = await temp.search('asks', { item_type: 'directive' })
  const shown = { id: 'asks', call: expect.objectContaining({ parameters: { tag: expect.anything() } }) }
  expect(field(data, 'results')).toContainEqual(expect.objectContaining(shown))
  const loaded = await temp.call('load', { item_type: 'directive', item_id: 'asks' })
  expect(JSON.stringify(loaded.data)).toContain('"description":"Which"')
})

describe('D1: a directive that extends another', () => {
  const STEPS = (names: string): string =>
    `</metadata><process>${names
      .split(' ')
      .map((name) => `<step name="${name}">do ${name}</step>`)
      .join('')}</process>`

  test('D1: has its inputs and steps, and says itself what it may do', async () => {
    directive(
      'base',
      `<permissions><execute resource="tool" id="hello_bash"/></permissions></metadata><inputs><input name="where" required="true">Place</input></inputs>${STEPS('one two').replace('</metadata>', '')}`,
    )
    directive('child', STEPS('two three'), ' extends="base"')
    expect((await act('run', 'child')).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { missing_inputs: [{ name: 'where', description: 'Place' }] },
    })
    const { status, data } = await act('run', 'child', { parameters: { where: 'here' } })
    expect(status).toBe('ready')
    expect(data).toMatchObject({
      directive: { process: [{ name: 'one' }, { name: 'two' }, { name: 'three' }] },
      permissions: { granted: [] },
    })
  })

  test('D1: in a ring is refused with the ring, without its base with the name of it', async () => {
    directive('a', '</metadata>', ' extends="b"')
    directive('b', '</metadata>', ' extends="a"')
    expect((await act('run', 'a')).error).toMatchObject({
      code: 'PARSE_ERROR',
      message: 'Cannot read "a": what it extends forms a ring: a > b > a',
    })
    directive('c', '</metadata>', ' extends="nowhere"')
    expect((await act('sign', 'c')).error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot read "c": there is no directive "nowhere", which it extends',
    })
  })

  test('D1: a base that was changed since it was signed stops it', async () => {
    const path = directive('base', STEPS('one'))
    directive('child', '</metadata>', ' extends="base"')
    await act('sign', 'base')
    expect((await act('run', 'child')).status).toBe('ready')
    temp.write('directives/base.md', readFileSync(path, 'utf8').replace('do one', 'do evil'))
    expect((await act('run', 'child')).error?.code).toBe('CONTENT_MODIFIED')
  })
})
