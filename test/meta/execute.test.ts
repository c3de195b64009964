import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('dry run', () => {
  test('S9: shows the chain and what would run, and no process, file or record comes of it', async () => {
    await temp.create(
      'email_enricher',
      { tool_type: 'python', description: 'x', parameters: [{ name: 'email', required: true }] },
      { 'main.py': `open('${temp.folder}/ran', 'w')` },
    )
    const files = (): readonly string[] =>
      // What the calls before it are mirrored in comes a moment later.
      readdirSync(temp.folder, { recursive: true, encoding: 'utf8' }).filter(
        (path) => !path.includes('.ai/logs'),
      )
    const before = files()
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'email_enricher',
      parameters: { email: 'a@b.c' },
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: {
        message: expect.any(String),
        executor_chain: ['email_enricher', 'python_runtime', 'subprocess'],
        tool_type: 'script',
        would_ask: false,
        denied_by: null,
        would_run: {
          command: expect.stringContaining('python3'),
          env: expect.arrayContaining(['KIWI_PARAM_EMAIL']),
        },
      },
    })
    expect(files()).toEqual(before)
  })

  test('S9: what is wrong is said as a run would say it', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'email_enricher',
      dry_run: true,
    })
    expect(reply.error).toMatchObject({ code: 'INVALID_PARAMETERS', details: { missing: ['email'] } })
  })

  test('S9: a dry create writes nothing', async () => {
    const parameters = { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ntrue' } }
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'create',
      item_id: 'not_yet',
      parameters,
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: { would_write: join(temp.project, '.ai/tools/not_yet') },
    })
    expect(existsSync(join(temp.project, '.ai/tools/not_yet'))).toBe(false)
  })
})

describe('the reply', () => {
  test('S15, S13: one shape for every kind of call', async () => {
    await temp.create('json_out', BASH, { 'main.sh': `echo '{"n": 1}'` })
    for (const id of ['hello_bash', 'hello_node', 'json_out', 'kiwi-overview']) {
      const reply = await temp.run(id)
      expect(Object.keys(reply)).toEqual(['status', 'data', 'error', 'metadata'])
      expect(reply).toMatchObject({
        status: 'success',
        data: { output: expect.anything() },
        error: null,
        metadata: {
          call_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
          duration_ms: expect.any(Number),
          item_id: id,
          action: 'run',
        },
      })
      expect(reply.metadata.executor_chain?.[0]).toBe(id)
    }
  })

  test('R21: one JSON value on standard output is the output, and its text stands beside it', async () => {
    expect((await temp.run('json_out')).data).toMatchObject({ output: { n: 1 }, stdout: '{"n": 1}\n' })
  })

  test('S14: an error has code, message, hint, details, and what was finished', async () => {
    await temp.create('half', BASH, { 'main.sh': 'echo done so far; echo oh no >&2; exit 7' })
    const reply = await temp.run('half')
    expect(Object.keys(reply)).toEqual(['status', 'data', 'error', 'metadata'])
    expect(reply).toMatchObject({
      status: 'error',
      data: { output: 'done so far\n', stderr: 'oh no\n', return_code: 7 },
      error: {
        code: 'TOOL_FAILED',
        message: expect.stringContaining('code 7: oh no'),
        hint: expect.any(String),
        retryable: false,
        details: expect.any(Object),
      },
    })
  })
})

describe('the project', () => {
  test('S11: a path that is no folder is refused with how to pass one', async () => {
    for (const project_path of ['/does/not/exist', 'relative']) {
      const reply = await temp.call('execute', {
        item_type: 'tool',
        action: 'run',
        item_id: 'hello_bash',
        project_path,
      })
      expect(reply.error).toMatchObject({
        code: 'PROJECT_PATH_REQUIRED',
        hint: expect.stringContaining('project_path'),
      })
    }
  })

  test('S11: project_path chooses another project, and without any project the other spaces still work', async () => {
    const other = join(temp.folder, 'other')
    mkdirSync(other)
    expect((await temp.search('zebras', { project_path: other, source: 'project' })).data).toMatchObject({
      total: 0,
    })
    for (const folder of [null, '/does/not/exist']) {
      const nowhere = {
        principal: 'p',
        session: 's',
        kind: 'agent',
        defaultProject: () => Promise.resolve(folder),
      } as const
      const execute = (args: object): Promise<Reply> =>
        temp.kiwi.call('execute', { item_type: 'tool', ...args }, nowhere)
      expect((await execute({ action: 'run', item_id: 'hello_bash' })).status).toBe('success')
      const parameters = { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ntrue' } }
      const create = await execute({ action: 'create', item_id: 'x', parameters })
      expect(create.error?.code).toBe('PROJECT_PATH_REQUIRED')
    }
  })
})

describe('C14: what one process makes, another sees within a second', () => {
  test('a tool made, changed and deleted beside us', async () => {
    const other = await openTempKiwi({ beside: temp })
    try {
      await other.run('hello_bash')
      await temp.create('shared_tool', BASH, { 'main.sh': 'echo one' })
      expect(await other.run('shared_tool')).toMatchObject({ data: { output: 'one\n' } })
      writeFileSync(join(temp.project, '.ai/tools/shared_tool/main.sh'), '#!/bin/bash\necho two two')
      expect((await other.run('shared_tool')).error?.code).toBe('CONTENT_MODIFIED')
      await temp.call('execute', { item_type: 'tool', action: 'sign', item_id: 'shared_tool' })
      expect(await other.run('shared_tool')).toMatchObject({ data: { output: 'two two\n' } })
      await temp.call('execute', {
        item_type: 'tool',
        action: 'delete',
        item_id: 'shared_tool',
        parameters: { confirm: true },
      })
      expect((await other.run('shared_tool')).error?.code).toBe('NOT_FOUND')
      await temp.create('shared_row', BASH, { 'main.sh': 'echo row' }, 'registry')
      expect(await other.run('shared_row')).toMatchObject({ data: { output: 'row\n' } })
    } finally {
      await other.close()
    }
  })
})

test('S8: knowledge that is changed, published or deleted as a tool is said to be knowledge, and the fix goes through', async () => {
  const act = (action: string, parameters: object): Promise<Reply> =>
    temp.call('execute', { item_type: 'tool', action, item_id: 'is_known', parameters })
  const manifest = { tool_type: 'knowledge', description: 'd' }
  expect((await act('create', { manifest })).status).toBe('success')
  for (const [action, parameters] of [
    ['update', { manifest: { description: 'e' } }],
    ['publish', {}],
    ['delete', { confirm: true }],
  ] as const) {
    const { error } = await act(action, parameters)
    expect(error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: `Cannot ${action} "is_known": it is knowledge, no tool`,
    })
    expect((await temp.call('execute', error?.fix?.arguments)).status).toBe('success')
  }
})

describe('S15: a refusal says what is missing', () => {
  const act = (action: string, more: object): Promise<Reply> =>
    temp.call('execute', { item_type: 'tool', action, ...more })

  test('a version that is not there names those that are', async () => {
    for (const version of ['1.0.0', '1.1.0'])
      await temp.create('has_two', { ...BASH, version }, { 'main.sh': 'true' }, 'registry')
    for (const reply of [await temp.run('has_two@9.0.0'), await temp.load('has_two@9.0.0')]) {
      expect(reply.error).toMatchObject({
        code: 'NOT_FOUND',
        message: expect.stringContaining('"has_two@9.0.0"'),
        hint: 'It has 1.1.0, 1.0.0',
        details: { versions: ['1.1.0', '1.0.0'] },
      })
    }
    expect((await temp.load('y/z/deep')).error?.message).toBe('Cannot find tool "y/z/deep"')
  })

  test.each([
    ['no id', { parameters: { manifest: { tool_type: 'api', description: 'd' } } }, '"tool_id" is missing'],
    ['nothing at all', { item_id: 'x' }, '"manifest" or "content" is missing'],
  ])('create with %s', async (_, given, reason) => {
    expect((await act('create', given)).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: expect.stringContaining(reason),
    })
  })

  test('what stands against a plan stands against making it', async () => {
    const manifest = { tool_type: 'script', executor: 'no_runtime', description: 'd' }
    const { error } = await act('create', { item_id: 'x', parameters: { manifest } })
    expect(error).toMatchObject({
      code: 'EXECUTOR_MISSING',
      message: expect.stringMatching(/^Cannot create "x": /),
    })
  })
})

describe('T13: a tool that brings its server along', () => {
  const manifest = (more: object): object => ({
    tool_type: 'mcp',
    version: '1.0.0',
    description: 'd',
    executor_config: { mcp_server: 'own', mcp_tool: 'query', command: 'true', args: ['-y'], ...more },
  })

  test('both are made, the server first; a different one there is a conflict', async () => {
    expect(await temp.create('asks', manifest({}))).toMatchObject({
      status: 'success',
      data: { tool_id: 'asks', also_created: { tool_id: 'mcp_own', source: 'project' } },
    })
    expect((await temp.load('mcp_own', { item_type: 'mcp' })).data).toMatchObject({
      metadata: { executor: 'subprocess', config: { transport: 'stdio', command: 'true', args: ['-y'] } },
    })
    expect((await temp.load('asks')).data).toMatchObject({ chain: [{}, { tool_id: 'mcp_own' }, {}] })
    const again = await temp.create('asks_too', manifest({}))
    expect(again).toMatchObject({ status: 'success' })
    expect(again.data).not.toHaveProperty('also_created')
    expect((await temp.create('asks_other', manifest({ command: 'false' }))).error).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('"mcp_own"'),
    })
    expect((await temp.load('asks_other')).error?.code).toBe('NOT_FOUND')
  })

  test('a shipped server of that name is overridden where the tool lies', async () => {
    const made = await temp.create('asks_shipped', manifest({ mcp_server: 'supabase' }))
    expect(made.data).toMatchObject({ also_created: { tool_id: 'mcp_supabase', source: 'project' } })
  })

  test('what is wrong with the tool leaves no server behind', async () => {
    const wrong = { ...manifest({ mcp_server: 'left' }), version: 'one' }
    expect((await temp.create('wrong', wrong)).error?.code).toBe('INVALID_MANIFEST')
    const silent = { ...manifest({ mcp_server: 'left' }), description: '' }
    expect((await temp.create('wrong', silent)).error?.code).toBe('INVALID_MANIFEST')
    expect((await temp.load('mcp_left', { item_type: 'mcp' })).error?.code).toBe('NOT_FOUND')
  })
})
