import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import { field, textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from './temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const directive = (id: string, permissions: string, more = ''): string =>
  temp.write(
    `directives/${id}.md`,
    `# ${id}\n\n\`\`\`xml\n<directive name="${id}" version="1.0.0">\n  <metadata>\n    <description>does ${id}</description>\n    ${permissions}\n  </metadata>\n  <process>${more}</process>\n</directive>\n\`\`\`\n`,
  )
const begin = (item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'directive', action: 'run', item_id, ...more })
const finish = (item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'directive', action: 'finish', item_id, ...more })
const run = (item_id: string, run_id: string, parameters: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'run', item_id, run_id, parameters })
const begun = async (id: string, more: object = {}): Promise<string> => {
  const reply = await begin(id, more)
  expect(reply).toMatchObject({ status: 'ready', error: null })
  return textField(reply.data, 'run_id')
}
const HELLO = '<execute resource="tool" id="hello_bash"/>'
const block = (...elements: readonly string[]): string => `<permissions>${elements.join('')}</permissions>`

describe('D9: a directive that is run', () => {
  test('D9, D13: is handed over with a run, what it may do, and how its calls are made', async () => {
    const inputs = '<inputs><input name="name">Whom to greet</input></inputs>'
    directive('greet', block(HELLO, '<execute resource="browser"/>') + inputs, 'Say hello to {name} &amp; go')
    const { status, data, metadata } = await begin('greet', { parameters: { name: 'Ada' } })
    const runId = textField(data, 'run_id')
    expect(status).toBe('ready')
    expect(data).toMatchObject({
      directive: {
        name: 'greet',
        version: '1.0.0',
        description: 'does greet',
        inputs: { name: 'Ada' },
        process: [{ action: 'Say hello to Ada & go' }],
      },
      tool_context: { scripts: { available: true, tools: [{ name: 'hello_bash' }] } },
      permissions: {
        granted: ['allow tool hello_bash'],
        ignored: [
          'line 7: <execute resource="browser"/> grants nothing: there is no such resource or server',
        ],
      },
      call_format: {
        description: expect.stringContaining('execute'),
        example: {
          item_type: 'tool',
          action: 'run',
          item_id: '<tool>',
          parameters: {},
          run_id: runId,
          project_path: temp.project,
        },
      },
      instructions: expect.stringContaining('run_id'),
      finish: { item_type: 'directive', action: 'finish', item_id: runId },
    })
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(records).toMatchObject([
      { kind: 'outcome', status: 'success', session: 'session-1' },
      { kind: 'decision', status: 'allow', body: { demands: ['tool greet', 'spawn greet'] } },
    ])
    const called = await temp.call('execute', {
      ...Object(field(data, 'call_format', 'example')),
      item_id: 'hello_bash',
    })
    expect(called.status).toBe('success')
  })

  test.each([
    [
      'front matter',
      '---\nname: both\nversion: 1.0.0\ndescription: d\ninputs: [{name: x}]\nsteps: [{name: one, action: go}]\n---\nMind {x}.\n',
    ],
    [
      'XML',
      '```xml\n<directive name="both" version="1.0.0"><metadata><description>d</description></metadata><inputs><input name="x"/></inputs><process><step name="one">go</step></process></directive>\n```\n\nMind {x}.\n',
    ],
  ])('D13, D1: in %s a text beside the steps is handed over with them', async (_, text) => {
    temp.write('directives/both.md', text)
    const { data } = await begin('both', { parameters: { x: 'the gap' } })
    expect(data).toMatchObject({
      directive: { process: [{ name: 'one', action: 'go' }], text: 'Mind the gap.' },
      instructions: expect.stringContaining('directive.text'),
    })
  })

  test('D9, PRM-01: its calls are judged by its permissions until it is over', async () => {
    directive('greet', block(HELLO))
    const id = await begun('greet')
    expect((await run('hello_bash', id)).status).toBe('success')
    expect((await run('hello_node', id)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'directive greet', required: '<execute resource="tool" id="hello_node"/>' },
    })
    expect(await finish(id, { run_id: id })).toMatchObject({
      status: 'success',
      data: { run_id: id, directive: 'greet' },
    })
    expect((await run('hello_bash', id)).error?.code).toBe('NOT_FOUND')
    expect((await finish(id)).error?.code).toBe('NOT_FOUND')
  })

  test('D9: it can be ended even where its next call would come before a person', async () => {
    directive('writes', block('<write resource="filesystem" path="notes/**"/>'))
    const id = await begun('writes')
    const write = async (path: string): Promise<string> =>
      (await run('filesystem.write', id, { path: join(temp.project, path), content: 'a' })).status
    for (const path of ['a', 'b', 'c']) expect(await write(path)).toBe('error')
    expect(await write('notes/a')).toBe('approval_required')
    expect((await finish(id, { run_id: id })).status).toBe('success')
  })

  test('PRM-10: another principal neither ends a run nor begins one in it', async () => {
    directive('greet', block('<execute><directive>greet</directive></execute>'))
    const id = await begun('greet')
    const other = {
      principal: 'other',
      session: 's2',
      kind: 'agent',
      defaultProject: () => Promise.resolve(temp.project),
    } as const
    for (const args of [
      { item_type: 'directive', action: 'finish', item_id: id },
      { item_type: 'directive', action: 'run', item_id: 'greet', run_id: id },
    ])
      expect((await temp.kiwi.call('execute', args, other)).error?.code).toBe('NOT_FOUND')
    expect((await finish(id)).status).toBe('success')
  })

  test('R55: without the block it may do nothing, in whichever form it is written', async () => {
    directive('bare', '')
    temp.write('directives/front.md', '---\nname: front\nversion: 1.0.0\n---\n# Front\n')
    for (const id of ['bare', 'front'])
      expect((await run('hello_bash', await begun(id))).error?.code).toBe('PERMISSION_DENIED')
  })

  test('D9: permissions of the front matter are those of XML', async () => {
    const granted = '  - execute: {resource: tool, id: hello_bash}\n'
    temp.write(
      'directives/front.md',
      `---\nname: front\nversion: 1.0.0\npermissions:\n${granted}---\n# Front\n`,
    )
    const id = await begun('front')
    expect((await run('hello_bash', id)).status).toBe('success')
    expect((await run('hello_node', id)).error?.code).toBe('PERMISSION_DENIED')
  })

  test.each([
    ['never closed', '<permissions>'],
    ['written twice', block(HELLO) + block()],
    ['not well-formed', '<permissions><read resource=filesystem/></permissions>'],
    ['with an attribute twice', '<permissions><read path="a" path="b"/></permissions>'],
  ])('D9: permissions that are %s begin nothing', async (_, permissions) => {
    directive('broken', permissions)
    expect((await begin('broken')).error?.code).toBe('PARSE_ERROR')
  })

  test('R55, S9: one that denies what is not understood begins nothing, and nobody signs or publishes it', async () => {
    directive('loose', block(HELLO, '<deny><execute resource="fly"/></deny>'))
    for (const action of ['run', 'sign', 'publish'])
      expect(await temp.call('execute', { item_type: 'directive', action, item_id: 'loose' })).toMatchObject({
        status: 'error',
        error: { code: 'PARSE_ERROR', message: expect.stringContaining('below <deny> has no effect') },
      })
  })

  test('PAR-02: a file of as many lines as fit keeps nobody from anything', async () => {
    directive('long', block(HELLO), 'a\n'.repeat(125_000))
    directive('greet', block(HELLO))
    await begun('greet')
    expect(await temp.call('search', { query: 'does greet' })).toMatchObject({ error: null })
  })

  test('D9: a block in a comment or a quotation is none', async () => {
    directive('quotes', `<!-- ${block(HELLO)} -->`, `<![CDATA[${block(HELLO)}]]>`)
    expect((await begin('quotes')).data).toMatchObject({ permissions: { granted: [], ignored: [] } })
  })

  test('S9: a dry run shows the same and begins nothing', async () => {
    directive('greet', block(HELLO))
    const { status, data } = await begin('greet', { dry_run: true })
    expect(status).toBe('dry_run')
    expect(data).toMatchObject({
      permissions: { granted: ['allow tool hello_bash'] },
      would_ask: false,
      denied_by: null,
    })
    expect(field(data, 'run_id')).toBeUndefined()
  })

  test('N17, R54: what is not trusted, or was changed since it was signed, is not begun', async () => {
    const path = directive('greet', block(HELLO))
    const other = await openTempKiwi({ isTrusted: false })
    other.write('directives/greet.md', `<directive name="greet" version="1.0.0">${block()}</directive>`)
    const args = { item_type: 'directive', action: 'run', item_id: 'greet' }
    expect((await other.call('execute', args)).error?.code).toBe('UNTRUSTED')
    await other.close()
    await temp.call('execute', { ...args, action: 'sign' })
    await begun('greet')
    writeFileSync(path, readFileSync(path, 'utf8').replace('hello_bash', 'hello_node'))
    expect((await begin('greet')).error?.code).toBe('CONTENT_MODIFIED')
  })

  test('H1: a rule of the harness can be against it', async () => {
    directive('greet', block(HELLO))
    temp.write(
      'config/agent_harness.yaml',
      'mode: direct\nrules:\n  - { op: spawn, match: { directive: greet }, effect: deny }\n',
    )
    expect((await begin('greet')).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { op: 'spawn', resource: 'greet' },
    })
  })

  test('D9: search shows it with its call, and as a tool it is not run', async () => {
    directive('greet', block(HELLO))
    expect(resultsOf(await temp.search('greet', { item_type: 'directive' }))[0]?.call).toMatchObject({
      item_type: 'directive',
      action: 'run',
      item_id: 'greet',
    })
    expect((await temp.run('greet')).error).toMatchObject({
      code: 'UNKNOWN_ACTION',
      hint: 'Send it with item_type "directive"',
      fix: { call: 'execute', arguments: { item_type: 'directive', action: 'run', item_id: 'greet' } },
    })
  })
})

describe('runs within runs', () => {
  const CHILD = '<execute><directive>child</directive></execute>'

  test('PRM-03: a child may what both it and its parent may, by resolved ids', async () => {
    const ask = (id: string): string => `<execute resource="tool" id="${id}"/>`
    directive('parent', block(HELLO, CHILD))
    for (const asked of [ask('hello_bash,hello_node'), ask('*'), ask('hello_*'), ask('hello_{bash,node}')]) {
      directive('child', block(asked))
      const parent = await begun('parent')
      const child = await begun('child', { run_id: parent })
      expect((await run('hello_node', child)).error?.code).toBe('PERMISSION_DENIED')
      const isMeant = !asked.includes('{')
      expect((await run('hello_bash', child)).status).toBe(isMeant ? 'success' : 'error')
    }
  })

  test('PRM-03, R51: what a parent hands on is the ceiling of its child, and not its own', async () => {
    directive('parent', block(CHILD, `<delegate>${HELLO}</delegate>`))
    directive('child', block(HELLO))
    const parent = await begun('parent')
    const child = await begun('child', { run_id: parent })
    expect((await run('hello_bash', parent)).error?.code).toBe('PERMISSION_DENIED')
    expect((await run('hello_bash', child)).status).toBe('success')
    expect((await finish(parent)).status).toBe('success')
    expect((await run('hello_bash', child)).error?.code).toBe('NOT_FOUND')
  })

  test('PRM-03: a run begins only what it was given, and the refusal says what is missing', async () => {
    directive('parent', block(HELLO))
    directive('child', block(HELLO))
    const parent = await begun('parent')
    expect((await begin('child', { run_id: parent })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'directive parent', required: CHILD },
    })
  })

  test('PRM-05: a tool that a run made gets no further than the run', async () => {
    directive(
      'maker',
      block('<kiwi><execute actions="create"/></kiwi>', '<execute resource="tool" id="made"/>'),
    )
    const id = await begun('maker')
    const made = await temp.call('execute', {
      item_type: 'tool',
      action: 'create',
      item_id: 'made',
      run_id: id,
      parameters: {
        manifest: BASH,
        files: { 'main.sh': '#!/usr/bin/env bash\ntouch "$KIWI_PROJECT_PATH/got_out"' },
      },
    })
    expect(made.status).toBe('success')
    expect((await run('made', id)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { op: 'exec', required: '<execute resource="shell" commands="bash"/>' },
    })
    expect(existsSync(join(temp.project, 'got_out'))).toBe(false)
  })

  test('H11: the calls of a child stand below its parent, and that below the session', async () => {
    directive('parent', block(HELLO, CHILD))
    directive('child', block(HELLO))
    const parent = await begun('parent')
    const child = await begun('child', { run_id: parent })
    await run('hello_bash', parent)
    await run('hello_bash', child)
    const of = async (session: string) =>
      (await temp.kiwi.store.records({ limit: 100, after: 0, session }))
        .filter(({ kind }) => kind === 'outcome')
        .map((record) => [record.session, record.parent_session, record.tool])
    expect(await of(parent)).toEqual([
      [parent, 'session-1', 'child'],
      [parent, 'session-1', 'hello_bash'],
      [child, parent, 'hello_bash'],
    ])
    expect((await of('session-1'))[0]).toEqual(['session-1', null, 'parent'])
    expect(await of('session-1')).toHaveLength(4)
  })

  test('H4: a run is undone as a whole', async () => {
    directive('writes', block('<write resource="filesystem" path="**/*"/>'))
    const id = await begun('writes')
    for (const name of ['a.txt', 'b.txt'])
      expect(
        await run('filesystem.write', id, { path: join(temp.project, name), content: name }),
      ).toMatchObject({ status: 'success' })
    const undone = await temp.call('execute', { item_type: 'tool', action: 'undo', item_id: id })
    expect(undone.status).toBe('success')
    expect(['a.txt', 'b.txt'].filter((name) => existsSync(join(temp.project, name)))).toEqual([])
  })
})
