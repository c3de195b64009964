import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { exampleServers } from '../fixtures/directive-kiwi.ts'
import { field, listField, textField } from '../fixtures/field.ts'
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
const PERSON = { principal: 'tester', session: 'desk', kind: 'person' } as const
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

describe('D10: calls of steps', () => {
  const calls = (...tools: readonly string[]): string =>
    `<process><step name="s">${tools.map((tool) => `<call tool="${tool}"/>`).join('')}</step></process>`
  const GIT = '<permissions><execute resource="git" action="status"/></permissions></metadata>'

  test.each(['sign', 'publish'])('D10: %s refuses those beyond its permissions', async (action) => {
    directive('steps', GIT + calls('git.status', 'git.diff', 'filesystem.read', 'hello_bash'))
    const lines = [
      '<execute resource="mcp" name="git" tools="diff"/>',
      '<read resource="filesystem" path="**/*"/>',
      '<execute resource="tool" id="hello_bash"/>',
    ]
    const { error } = await act(action, 'steps')
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', details: { required: lines } })
    expect(error?.message).toContain('step "s" calls "git.diff", which it may not use: add <execute')
    directive(
      'steps',
      `<permissions>${lines.join('')}<execute resource="git" action="status"/></permissions></metadata>${calls('git.status', 'git.diff', 'filesystem.read', 'hello_bash')}`,
    )
    expect(await act(action, 'steps')).toMatchObject({ error: null })
  })

  test('D10: those that its own <tools> do not name are refused too', async () => {
    directive(
      'steps',
      `<permissions><execute resource="git" action="*"/></permissions><tools><mcp name="git"><tool>status</tool></mcp></tools></metadata>${calls('git.status', 'git.diff')}`,
    )
    expect((await act('sign', 'steps')).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { required: ['<mcp name="git"><tool>diff</tool></mcp>'] },
    })
  })

  test('D10: what is not there is said when it is signed, and when it is run', async () => {
    const { supabase } = exampleServers(temp)
    await temp.load('supabase', { item_type: 'mcp' })
    expect(supabase).toBeDefined()
    directive(
      'steps',
      `<permissions><execute resource="mcp" name="supabase" tools="*"/><execute resource="mcp" name="nowhere" tools="*"/><execute resource="tool" id="gone"/></permissions><tools><script name="lost"/></tools></metadata>${calls('supabase.get_project', 'supabase.drop', 'nowhere.a', 'gone')}`,
    )
    const said = [
      'step "s" calls "supabase.drop": "supabase" has no tool "drop"',
      'step "s" calls "nowhere.a": there is no server "nowhere": kiwi add nowhere',
      'step "s" calls "gone": there is no such tool here',
      '<tools> names "lost": there is no such tool here',
    ]
    const signed = await act('sign', 'steps')
    expect(signed.error).toBeNull()
    for (const one of said) expect(JSON.stringify(signed.data)).toContain(JSON.stringify(one))
    const { data } = await act('run', 'steps')
    const warnings = listField(data, 'warnings').join('\n')
    expect(warnings).toContain(said[0])
    for (const name of ['nowhere', 'gone', 'lost']) expect(JSON.stringify(data)).toContain(name)
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

  test.each([
    ['in XML', '# V\n\n<directive name="v" version="1.0"><process>x</process></directive>\n', 3, '1.0'],
    ['in front matter', '---\nname: v\nversion: 1.0\ndescription: d\n---\nx\n', 3, '1.0'],
    ['as a text', '---\nname: v\nversion: "1.x"\ndescription: d\n---\nx\n', 3, '1.x'],
  ])('D1: a version that is none is refused with its place, %s', async (_, text, line, written) => {
    temp.write('directives/v.md', text)
    expect((await act('run', 'v')).error).toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining(`the version ${written} is none`),
      hint: expect.stringContaining('such as 1.0.0'),
      details: { line, column: 1 },
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
  expect(listField(data, 'results')[0]).toMatchObject({ call: { parameters: { tag: expect.anything() } } })
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
      code: 'MISSING_INPUTS',
      details: { missing_inputs: [{ name: 'where', description: 'Place' }] },
    })
    const { status, data } = await act('run', 'child', { parameters: { where: 'here' } })
    expect(status).toBe('ready')
    expect(data).toMatchObject({
      directive: { process: [{ name: 'one' }, { name: 'two' }, { name: 'three' }] },
      permissions: { granted: [] },
    })
  })

  test('D1, S3, S5, S10: shows the inputs of its base wherever it shows its own', async () => {
    const wants = '</metadata><inputs><input name="where" required="true">Place</input></inputs>'
    directive('base', wants)
    directive('child', wants.replaceAll('where', 'gift').replace('Place', 'What'), ' extends="base"')
    const call = { item_type: 'directive', action: 'run', item_id: 'child' }
    const both = { parameters: { where: expect.anything(), gift: expect.anything() } }
    const ready = { ...call, ...both }
    const query = { query: 'does child', item_type: 'directive', limit: 1 }
    expect((await temp.call('search', query)).data).toMatchObject({ results: [{ call: ready }] })
    const many = await temp.call('search', { query: 'directive does', item_type: 'directive' })
    const line = listField(many.data, 'results').find((one) => field(one, 'id') === 'child')
    expect(JSON.stringify(line)).toMatch(/where.*gift/)
    expect((await temp.call('load', { item_type: 'directive', item_id: 'child' })).data).toMatchObject({
      parameters: {
        properties: { where: { description: 'Place' }, gift: { description: 'What' } },
        required: ['where', 'gift'],
      },
      call_example: ready,
    })
    expect((await temp.call('help', { item_id: 'child' })).data).toMatchObject({ call: ready })
    // Without its base it shows what it says itself, and the run says what is wrong.
    directive('child', wants, ' extends="nowhere"')
    const alone = await temp.call('load', { item_type: 'directive', item_id: 'child' })
    expect(alone.data).toMatchObject({ parameters: { required: ['where'] } })
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

  test.each(['../../etc/passwd', 'a b', 'nowhere@1.0.0'])(
    'D1: on "%s" is refused as what is not there, and what cannot be the id of anything names nothing',
    async (base) => {
      directive('c', '</metadata>', ` extends="${base}"`)
      const { error } = await act('run', 'c')
      expect(error).toMatchObject({
        code: 'NOT_FOUND',
        message: `Cannot read "c": there is no directive "${base}", which it extends`,
      })
      expect(JSON.stringify(error?.fix)).not.toContain('@')
      directive('c', '</metadata><process><step>x</step></process>', ' extends=" "')
      expect((await act('run', 'c')).status).toBe('ready')
    },
  )

  test('D1, D2: fills in the inputs of its base, and nothing is said of them', async () => {
    const step = (name: string): string => `<process><step name="${name}">{who} {other}</step></process>`
    directive('base', `</metadata><inputs><input name="who"/></inputs>${step('one')}`)
    directive('child', `</metadata>${step('two')}`, ' extends="base"')
    const { data } = await act('run', 'child', { parameters: { who: 'Ada' } })
    expect(data).toMatchObject({
      directive: { process: [{ action: 'Ada {other}' }, { action: 'Ada {other}' }] },
      warnings: [
        expect.stringMatching(/^line \d+: \{other\} is no input/),
        expect.stringMatching(/^line \d+: in "base": \{other\} is no input/),
      ],
    })
  })

  test('D1, S1: is built on what its own space or one below it has, and never on what a project brings', async () => {
    const text = (id: string, inner: string, attributes = ''): string =>
      `<directive name="${id}" version="1.0.0"${attributes}><metadata><description>does</description>${inner}</directive>\n`
    const own = join(temp.folder, 'user/directives')
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'mine.md'), text('mine', STEPS('two'), ' extends="base"'))
    directive('base', STEPS('evil'))
    expect((await act('run', 'mine')).error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot read "mine": there is no directive "base", which it extends',
    })
    writeFileSync(join(own, 'base.md'), text('base', STEPS('one')))
    expect((await act('run', 'mine')).data).toMatchObject({
      directive: { process: [{ name: 'one' }, { name: 'two' }] },
    })
  })

  test('D1: is worth the least of all it is built on, and says so', async () => {
    directive('base', STEPS('one'))
    directive('child', '</metadata>', ' extends="base"')
    const signs = { ...PERSON, defaultProject: () => Promise.resolve(temp.project) }
    const sign = { item_type: 'directive', action: 'sign', item_id: 'child' }
    expect((await temp.kiwi.call('execute', sign, signs)).error).toBeNull()
    const { metadata } = await act('run', 'child')
    expect(metadata.warnings).toContain('"base" is not signed: runs with the least trust')
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(records.find(({ kind }) => kind === 'decision')?.body).toMatchObject({ trust: 1 })
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

describe('D1, D10: a directive is spoken of in the words it is written in', () => {
  const WANTS = [
    '---',
    'name: ships',
    'version: 1.0.0',
    'description: Ships it',
    'category: x',
    'permissions:',
    '  - execute: {resource: shell, commands: git}',
    'tools:',
    '  - shell: {commands: [git, npm]}',
    '---',
    'Ship it.',
  ].join('\n')

  test('D10: what a directive in YAML wants too much is asked for in YAML, and pasted it is enough', async () => {
    temp.write('directives/x/ships.md', WANTS)
    const { error } = await act('sign', 'ships')
    const line = '- execute: {resource: shell, commands: npm}'
    expect(error).toMatchObject({
      code: 'VALIDATION_FAILED',
      hint: `Add to "permissions": ${line}`,
      details: { required: [line] },
    })
    expect(await act('run', 'ships')).toMatchObject({
      status: 'ready',
      data: { warnings: [`"shell npm" is left out: add ${line} to "permissions"`] },
    })
    temp.write('directives/x/ships.md', WANTS.replace('tools:', `  ${line}\ntools:`))
    expect((await act('sign', 'ships')).error).toBeNull()
  })

  test('D9: a call that a directive in YAML does not grant is refused with the line of YAML', async () => {
    temp.write('directives/x/ships.md', WANTS)
    const { data } = await act('run', 'ships')
    const call = { item_type: 'tool', action: 'run', item_id: 'shell.run', run_id: textField(data, 'run_id') }
    const { error } = await temp.call('execute', { ...call, parameters: { command: 'ls' } })
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      hint: 'Add - execute: {resource: shell, commands: ls} to "permissions" of the directive "ships"',
    })
  })

  test('D9: a denial that is misspelt in YAML is refused in the words of YAML', async () => {
    temp.write(
      'directives/x/ships.md',
      WANTS.replace('- execute: {', '- forbid: {execute: {').replace('git}', 'git}}'),
    )
    const { error } = await act('run', 'ships')
    expect(error?.message).toContain('"forbid: {execute: {...}}" is not known here: "deny" was meant')
    expect(`${error?.message} ${error?.hint}`).not.toMatch(/[<>]/)
  })
})
