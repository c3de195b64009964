import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import type { ExampleServers } from '../fixtures/directive-kiwi.ts'
import { begin, definition, exampleServers, writeDirective } from '../fixtures/directive-kiwi.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import { writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
let servers: ExampleServers
beforeEach(async () => {
  temp = await openTempKiwi()
  servers = exampleServers(temp)
})
afterEach(() => temp.close())

const ALL = '<permissions><execute resource="supabase" action="*"/></permissions>'
const namesIn = ({ data }: Reply, key: string): readonly unknown[] =>
  listField(data, 'tool_context', key, 'tools').map((tool) => field(tool, 'name'))
const warningsOf = ({ data }: Reply): string => JSON.stringify(field(data, 'warnings'))
const runIdOf = async (id: string): Promise<string> => {
  const reply = await begin(temp, id)
  expect(reply).toMatchObject({ status: 'ready', error: null })
  return textField(reply.data, 'run_id')
}
const use = (item_id: string, run_id: string, parameters: object): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'run', item_id, run_id, parameters })
const openRuns = async (): Promise<number> =>
  (await temp.kiwi.store.records({ limit: 100, operation: 'execute.run', status: 'success' })).length

describe('servers that a directive wants', () => {
  test('D3, D13: are there with the schemas of what is granted, and why they are wanted', async () => {
    writeDirective(temp, 'd', `${ALL}<mcps><mcp name="supabase" required="true">Database work</mcp></mcps>`)
    const reply = await begin(temp, 'd')
    expect(field(reply.data, 'tool_context', 'supabase')).toMatchObject({
      available: true,
      why: 'Database work',
      tools: expect.arrayContaining([
        {
          name: 'supabase.apply_migration',
          description: 'Applies a migration to the database',
          inputSchema: expect.objectContaining({ required: ['project_id'] }),
        },
      ]),
    })
    expect(namesIn(reply, 'supabase')).toHaveLength(6)
  })

  test('D8, D13: of a server that is granted whole, what is granted is what it says it will use', async () => {
    writeDirective(temp, 'd', `${ALL}<tools><mcp name="supabase"><tool>execute_sql</tool></mcp></tools>`)
    const reply = await begin(temp, 'd')
    expect(field(reply.data, 'permissions', 'granted')).toEqual(['allow tool supabase.execute_sql'])
    expect(namesIn(reply, 'supabase')).toEqual(['supabase.execute_sql'])
  })

  test('D2: what a directive says of its outcome has its inputs filled in', async () => {
    writeDirective(
      temp,
      'd',
      '<inputs><input name="day" required="true"/></inputs><outputs><success>out/{day}.md, not {night}</success></outputs>',
    )
    const { data } = await begin(temp, 'd', { parameters: { day: 'mon' } })
    expect(field(data, 'directive', 'more', 'outputs', 'success')).toBe('out/mon.md, not {night}')
  })

  test('D3: one that is required and not there begins nothing, and the error says what to do', async () => {
    writeDirective(temp, 'd', '<tools><mcp name="linear" required="true"/></tools>')
    expect(await begin(temp, 'd')).toMatchObject({
      status: 'error',
      error: {
        code: 'UPSTREAM_UNAVAILABLE',
        message: expect.stringContaining("Required MCP 'linear' not available"),
        hint: expect.stringContaining('kiwi add linear'),
        fix: { call: 'search', arguments: { query: 'mcp:*' } },
        details: { server: 'linear', directive: 'd' },
      },
    })
    expect(await openRuns()).toBe(0)
  })

  test('D3: one that does not start is as good as none; wanted only, it is marked and the run goes on', async () => {
    writeServers(temp, 'user', { broken: { command: process.execPath, args: ['-e', 'process.exit(1)'] } })
    writeDirective(temp, 'must', '<tools><mcp name="broken" required="true"/></tools>')
    writeDirective(temp, 'may', '<tools><mcp name="broken"/><mcp name="linear"/></tools>')
    expect((await begin(temp, 'must')).error).toMatchObject({
      message: expect.stringContaining("Required MCP 'broken' not available"),
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: 'broken' } },
    })
    expect(await begin(temp, 'may')).toMatchObject({
      status: 'ready',
      data: {
        tool_context: {
          broken: { available: false, tools: [], error: expect.stringContaining('broken') },
          linear: { available: false, error: 'no server "linear" was added here' },
        },
      },
    })
  })

  test('D3: what keeps one that is required away says what to do about it', async () => {
    const script = 'console.error("no license here"); process.exit(1)'
    writeServers(temp, 'project', { strange: { command: process.execPath, args: ['-e', script] } })
    writeServers(temp, 'user', { broken: { command: process.execPath, args: ['-e', script] } })
    writeDirective(temp, 'new', '<tools><mcp name="strange" required="true"/></tools>')
    writeDirective(temp, 'old', '<tools><mcp name="broken" required="true"/></tools>')
    writeDirective(temp, 'none', '<tools><mcp name="linear" required="true"/></tools>')
    const lesser = (name: string): string => `take required="true" from <mcp name="${name}"> of the directive`
    expect((await begin(temp, 'new')).error).toMatchObject({
      message: expect.stringContaining('nobody has looked at it'),
      hint: expect.stringMatching(/kiwi trust strange.*no run was begun$/),
      retryable: false,
    })
    expect((await begin(temp, 'old')).error).toMatchObject({
      hint: expect.stringMatching(/kiwi doctor broken says what it needs; or take/),
      details: { server: 'broken', directive: 'old', stderr: 'no license here' },
    })
    expect((await begin(temp, 'none')).error).toMatchObject({
      hint: `Ask the person to add it with kiwi add linear; or ${lesser('linear')}; no run was begun`,
      retryable: false,
    })
  })

  test('D4, D10: only listed tools that are granted are there, and only they can be called', async () => {
    const granted = '<execute resource="mcp" name="supabase" tools="apply_migration,execute_sql"/>'
    writeDirective(
      temp,
      'd',
      `<permissions>${granted}</permissions><tools><mcp name="supabase"><tool>apply_migration</tool><tool name="get_project"/><tool>nothing</tool></mcp></tools>`,
    )
    const reply = await begin(temp, 'd')
    expect(namesIn(reply, 'supabase')).toEqual(['supabase.apply_migration'])
    expect(field(reply.data, 'warnings')).toEqual([
      '"supabase.get_project" is left out: add <execute resource="mcp" name="supabase" tools="get_project"/> to <permissions> of the directive "d"',
      '"supabase" has no tool "nothing"',
    ])
    const id = textField(reply.data, 'run_id')
    expect((await use('supabase.apply_migration', id, { project_id: 'p' })).status).toBe('success')
    expect((await use('supabase.get_project', id, { id: 'p' })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'directive d' },
    })
    expect((await use('supabase.execute_sql', id, { project_id: 'p' })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: {
        layer: 'tools of directive d',
        required: '<mcp name="supabase"><tool>execute_sql</tool></mcp>',
      },
    })
    expect(servers.supabase.calls()).toHaveLength(1)
  })

  test('D8: once servers are named there are no others, whatever the permissions say', async () => {
    writeDirective(
      temp,
      'd',
      '<permissions><execute resource="supabase"/><execute resource="github"/></permissions><tools><mcp name="supabase"/></tools>',
    )
    const reply = await begin(temp, 'd')
    expect(field(reply.data, 'tool_context', 'github')).toBeUndefined()
    const called = await use('github.add_labels', textField(reply.data, 'run_id'), { number: 1 })
    expect(called.error).toMatchObject({ details: { layer: 'tools of directive d' } })
  })

  test('D13: without a word about tools, what the permissions name is there', async () => {
    writeDirective(temp, 'd', '<permissions><execute resource="github" action="add_labels"/></permissions>')
    expect(namesIn(await begin(temp, 'd'), 'github')).toEqual(['github.add_labels'])
  })

  test('D7, D14: schemas come from what is kept; refresh asks once, and the next run has what it heard', async () => {
    writeDirective(temp, 'kept', `${ALL}<tools><mcp name="supabase"/></tools>`)
    writeDirective(temp, 'anew', `${ALL}<tools><mcp name="supabase" refresh="true"/></tools>`)
    await runIdOf('kept')
    servers.supabase.say({ tools: [definition('other', 'Another one', 'a')] })
    expect(namesIn(await begin(temp, 'kept'), 'supabase')).toHaveLength(6)
    expect(warningsOf(await begin(temp, 'anew'))).toContain('kiwi trust supabase.other')
    expect(namesIn(await begin(temp, 'kept'), 'supabase')).toEqual([])
    expect(await openRuns()).toBe(4)
  })

  test('X5, D13: what a person has to look at first is left out and named', async () => {
    writeDirective(temp, 'd', `${ALL}<tools><mcp name="supabase" refresh="true"/></tools>`)
    await runIdOf('d')
    servers.supabase.say({ tools: [definition('get_project', 'Gets it, and more', 'id')] })
    const reply = await begin(temp, 'd')
    expect(namesIn(reply, 'supabase')).toEqual([])
    expect(warningsOf(reply)).toContain('\\"supabase.get_project\\" is left out')
  })

  test('S9: a dry run starts nothing and shows what is known', async () => {
    writeDirective(temp, 'd', `${ALL}<tools><mcp name="supabase" required="true"/></tools>`)
    expect(await begin(temp, 'd', { dry_run: true })).toMatchObject({
      status: 'dry_run',
      data: {
        tool_context: { supabase: { available: false, error: '"supabase" was never listed' } },
        warnings: ['"supabase" is required: a run asks it first, and fails without it'],
      },
    })
    expect(servers.supabase.starts()).toBe(0)
  })

  test('S9, D3: a dry run fails where the run would for want of a server', async () => {
    writeDirective(temp, 'd', `${ALL}<tools><mcp name="nowhere" required="true"/></tools>`)
    expect(await begin(temp, 'd', { dry_run: true })).toMatchObject({
      status: 'error',
      error: { code: 'UPSTREAM_UNAVAILABLE', message: expect.stringContaining("Required MCP 'nowhere'") },
    })
  })
})

describe('a name that a directive gives to a server', () => {
  const aliased = (alias: string): string =>
    writeDirective(
      temp,
      'd',
      `${ALL}<tools><mcp name="supabase" alias="${alias}"><tool>execute_sql</tool></mcp></tools>`,
      `<process><step name="ask"><tool_call tool="${alias}.execute_sql"><param name="query">select 1</param></tool_call></step></process>`,
    )

  test('D5: works inside this run only, and the record has both names', async () => {
    aliased('db')
    const reply = await begin(temp, 'd')
    expect(reply.data).toMatchObject({
      directive: { process: [{ name: 'ask', calls: [{ tool: 'db.execute_sql' }] }] },
      tool_context: { supabase: { alias: 'db' }, db: { available: true, alias_of: 'supabase' } },
    })
    const id = textField(reply.data, 'run_id')
    const called = await use('db.execute_sql', id, { project_id: 'p', query: 'select 1' })
    expect(called).toMatchObject({ status: 'success', metadata: { item_id: 'supabase.execute_sql' } })
    const { call_id } = called.metadata
    expect(await temp.kiwi.store.records({ limit: 2, call_id })).toMatchObject([
      { kind: 'outcome', tool: 'db.execute_sql' },
      { kind: 'decision', tool: 'db.execute_sql', body: { tool: 'supabase.execute_sql' } },
    ])
    expect((await temp.run('db.execute_sql', {})).error?.code).toBe('NOT_FOUND')
    expect((await use('db.get_project', id, { id: 'p' })).error?.code).toBe('PERMISSION_DENIED')
  })

  test('D5, K4: is unknown to the runs that it begins', async () => {
    const child = '<execute><directive>child</directive></execute>'
    writeDirective(
      temp,
      'parent',
      `<permissions>${child}<execute resource="supabase"/></permissions><tools><mcp name="supabase" alias="db"/></tools>`,
    )
    writeDirective(temp, 'child', ALL)
    const parent = await runIdOf('parent')
    const begun = await begin(temp, 'child', { run_id: parent })
    const id = textField(begun.data, 'run_id')
    expect((await use('db.get_project', id, { id: 'p' })).error?.code).toBe('NOT_FOUND')
    expect((await use('supabase.get_project', id, { id: 'p' })).status).toBe('success')
  })

  test.each([
    ['github', 'a server is called so'],
    ['filesystem', 'the name is reserved'],
    ['a.b', 'use letters, digits, \\"_\\" and \\"-\\"'],
  ])('D5: %s is not taken', async (alias, why) => {
    aliased(alias)
    expect(warningsOf(await begin(temp, 'd'))).toContain(why)
  })
})

describe('D6: proxy="false"', () => {
  const direct = `${ALL}<tools><mcp name="supabase" proxy="false"/></tools>`

  test.each(['direct', 'hybrid'])('D6: is honoured in mode %s', async (mode) => {
    writeDirective(temp, 'd', direct)
    temp.write('config/agent_harness.yaml', `mode: ${mode}\n`)
    const reply = await begin(temp, 'd')
    expect(field(reply.data, 'tool_context', 'supabase', 'proxy')).toBe(false)
    expect(warningsOf(reply)).not.toContain('ignored')
  })

  test('D6: is reported as ignored everywhere else, and calls go through Kiwi', async () => {
    writeDirective(temp, 'd', direct)
    const reply = await begin(temp, 'd')
    expect(field(reply.data, 'tool_context', 'supabase', 'proxy')).toBeUndefined()
    expect(warningsOf(reply)).toContain('proxy=\\"false\\" of \\"supabase\\" is ignored')
    const called = await use('supabase.get_project', textField(reply.data, 'run_id'), { id: 'p' })
    expect(called.status).toBe('success')
  })
})

describe('D3, D5, D6: a group of ours that is wanted as a server', () => {
  const wanted =
    '<permissions><read resource="filesystem"/></permissions><mcps><mcp name="filesystem" alias="fs" proxy="false">Read notes</mcp></mcps>'

  test('D3, D5: has its reason and its name', async () => {
    writeDirective(temp, 'd', wanted)
    const { data } = await begin(temp, 'd')
    expect(field(data, 'tool_context')).toMatchObject({
      filesystem: { available: true, why: 'Read notes', alias: 'fs' },
      fs: { available: true, alias_of: 'filesystem' },
    })
  })

  test('D6: is called through Kiwi, and that is said', async () => {
    writeDirective(temp, 'd', wanted)
    expect(warningsOf(await begin(temp, 'd'))).toContain('proxy=\\"false\\" of \\"filesystem\\" is ignored')
    temp.write('config/agent_harness.yaml', 'mode: hybrid\n')
    const { data } = await begin(temp, 'd')
    expect(field(data, 'tool_context', 'filesystem', 'proxy')).toBe(false)
  })
})

test('R56: a server called filesystem is ours, so that paths are judged', async () => {
  writeDirective(
    temp,
    'd',
    '<permissions><read resource="filesystem" path="docs/**"/></permissions><mcps><mcp name="filesystem"><tools><tool>read_file</tool></tools></mcp></mcps>',
    '<process><step><call mcp="filesystem" tool="read_file"><param name="path">docs/a.md</param></call></step></process>',
  )
  const reply = await begin(temp, 'd')
  expect(namesIn(reply, 'filesystem')).toEqual(['filesystem.read'])
  expect(reply.data).toMatchObject({
    directive: { process: [{ calls: [{ tool: 'filesystem.read', parameters: { path: 'docs/a.md' } }] }] },
  })
  const id = textField(reply.data, 'run_id')
  const read = await use('filesystem.read_file', id, { path: join(temp.project, 'src/a.ts') })
  expect(read.error).toMatchObject({ code: 'PERMISSION_DENIED', details: { op: 'read' } })
  expect((await use('filesystem.list', id, { path: temp.project })).error?.code).toBe('PERMISSION_DENIED')
})
