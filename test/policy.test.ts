import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RunOrder } from '../src/kernel/runs.ts'
import type { Reply } from '../src/shared/reply.ts'
import { field, textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from './temp-kiwi.ts'
import { person } from './trust/callers.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const harness = (text: string): void => void temp.write('config/agent_harness.yaml', text)
const run = (item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'run', item_id, ...more })
const order = (more: Partial<RunOrder> = {}): RunOrder => ({
  kind: 'run',
  parent: null,
  principal: 'tester',
  directive: 'greet',
  permissions: '<permissions/>',
  servers: [],
  projectPath: temp.project,
  tools: null,
  ...more,
})
const HELLO = '<permissions><execute resource="tool" id="hello_bash"/></permissions>'

describe('a harness file', () => {
  test('H1: what its rules deny is refused with layer, rule, remedy, and on record', async () => {
    harness('mode: direct\nrules:\n  - { op: tool, match: { tool: hello_* }, effect: deny }\n')
    const { error, metadata } = await run('hello_bash')
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Cannot use "hello_bash": layer "project harness" denies it by rule "project/rules/1"',
      details: {
        layer: 'project harness',
        rule: 'project/rules/1',
        op: 'tool',
        resource: 'hello_bash',
        required: null,
      },
    })
    expect(error?.hint).toContain(join(temp.project, '.ai/config/agent_harness.yaml'))
    const [, decision] = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(decision).toMatchObject({
      status: 'deny',
      body: { layer: 'project harness', rule: 'project/rules/1' },
    })
  })

  test('S9: a dry run says what would be asked or refused, and by whom', async () => {
    harness('mode: direct\nrules:\n  - { op: tool, match: { tool: hello_bash }, effect: ask }\n')
    expect((await run('hello_bash', { dry_run: true })).data).toMatchObject({
      message: '"hello_bash" would wait for a person to approve it: everything was checked, nothing was run',
      would_ask: true,
      asked_by: { layer: 'project harness', rule: 'project/rules/1' },
      denied_by: null,
    })
    harness('mode: direct\nrules:\n  - { op: tool, match: { tool: hello_bash }, effect: deny }\n')
    expect((await run('hello_bash', { dry_run: true })).data).toMatchObject({
      would_ask: false,
      denied_by: { layer: 'project harness', rule: 'project/rules/1', required: null },
    })
  })

  test('H1: a condition is over the arguments as they will be used', async () => {
    harness(
      'mode: direct\nrules:\n  - { op: tool, when: { required: [name], properties: { name: { const: Eve } } }, effect: deny }\n',
    )
    expect((await run('hello_bash', { parameters: { name: 'Ada' } })).status).toBe('success')
    expect((await run('hello_bash', { parameters: { name: 'Eve' } })).error?.code).toBe('PERMISSION_DENIED')
  })

  test('PRM-05: a tool that an agent made is held to the list of programs; one that a person signed is not', async () => {
    harness('mode: direct\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
    await temp.create('made', BASH, { 'main.sh': 'echo made' })
    const { error } = await run('made')
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { op: 'exec', rule: 'project/shell.allowed_commands' },
    })
    await temp.kiwi.call('execute', { item_type: 'tool', action: 'sign', item_id: 'made' }, person(temp))
    expect((await run('made')).data).toMatchObject({ output: 'made\n' })
  })

  describe('PRM-05: a tool that an agent made over the shell is the shell', () => {
    beforeEach(async () => {
      const input_schema = {
        type: 'object',
        properties: { argv: { type: 'array', items: { type: 'string' } } },
      }
      const over = { tool_type: 'script', executor: 'shell_runtime', description: 'x', input_schema }
      expect((await temp.create('gateway', over)).error).toBeNull()
      expect((await temp.create('script', BASH, { 'main.sh': 'echo ran' })).error).toBeNull()
    })
    const gateway = (): Promise<Reply> => run('gateway', { parameters: { argv: ['true'] } })

    test.each([
      'mode: proxy\ninternal_tools: { filesystem: { allowed_paths: ["${PROJECT_PATH}"] } }\n',
      'mode: direct\ninternal_tools: { shell: { enabled: false } }\n',
      'mode: direct\nrules: [{ op: tool, match: { server: shell, tool: run }, effect: deny }]\n',
    ])('PRM-05, H1: %j refuses both, and what a person signed runs', async (text) => {
      expect((await gateway()).status).toBe('success')
      harness(text)
      for (const { error } of [await gateway(), await run('script')])
        expect(error?.code).toBe('PERMISSION_DENIED')
      for (const item_id of ['script', 'gateway'])
        await temp.kiwi.call('execute', { item_type: 'tool', action: 'sign', item_id }, person(temp))
      expect((await run('script')).data).toMatchObject({ output: 'ran\n' })
      expect((await gateway()).error?.code).toBe('PERMISSION_DENIED')
    })

    test('PRM-05, H8: its calls count as calls of the shell', async () => {
      harness('mode: direct\ninternal_tools: { shell: { rate_limit: 2/minute } }\n')
      expect((await run('shell.run', { parameters: { argv: ['true'] } })).status).toBe('success')
      expect((await gateway()).status).toBe('success')
      for (const { error } of [await gateway(), await run('script')])
        expect(error).toMatchObject({
          code: 'RATE_LIMITED',
          details: { rule: 'project/shell/rate_limit' },
        })
    })
  })

  test('H1: the machine, the user and the project each can narrow', async () => {
    writeFileSync(
      temp.config.machineHarness,
      'mode: direct\nrules: [{ op: tool, match: { tool: hello_bash }, effect: deny }]\n',
    )
    expect((await run('hello_bash')).error).toMatchObject({ details: { layer: 'machine harness' } })
    expect((await run('hello_node')).status).toBe('success')
  })
})

describe('a harness file that cannot be used', () => {
  beforeEach(() => harness('mode: direct\ninternal_tools:\n  shel: {}\n'))

  test('H1, PRM-12: nothing runs and nothing is written, and file, line and column are named', async () => {
    const replies = [
      await run('hello_bash'),
      await run('hello_bash', { dry_run: true }),
      await temp.create('new_one', BASH, { 'main.sh': 'true' }),
      await temp.load('hello_bash', { destination: 'project' }),
    ]
    for (const { error } of replies)
      expect(error).toMatchObject({
        code: 'POLICY_ERROR',
        message: expect.stringMatching(
          /agent_harness\.yaml:3:3: "internal_tools" has no key "shel": "shell" is probably meant$/,
        ),
        hint: expect.stringContaining('Correct'),
        details: { faults: [{ line: 3, column: 3 }] },
      })
    const [outcome] = await temp.kiwi.store.records({ limit: 1, call_id: replies[0]?.metadata.call_id ?? '' })
    expect(outcome).toMatchObject({ kind: 'outcome', status: 'denied' })
  })

  test('H1: search, load and help answer, and say so', async () => {
    for (const reply of [
      await temp.search('hello'),
      await temp.load('hello_bash'),
      await temp.call('help', {}),
    ]) {
      expect(reply.status).toBe('success')
      expect(reply.metadata.warnings?.join()).toContain('nothing runs until a policy is corrected')
    }
  })

  test('H1: it is read again when it was corrected', async () => {
    harness('mode: direct\n')
    expect((await run('hello_bash')).status).toBe('success')
  })
})

describe('PRM-10: what is shown', () => {
  test('PRM-10: what nobody could run is not found, not counted, and loaded with the reason', async () => {
    const before = await temp.search('hello')
    harness('mode: direct\nrules:\n  - { op: tool, match: { tool: hello_bash }, effect: deny }\n')
    const after = await temp.search('hello')
    expect(resultsOf(before).map(({ id }) => id)).toContain('hello_bash')
    expect(resultsOf(after).map(({ id }) => id)).not.toContain('hello_bash')
    expect(Number(field(after.data, 'total'))).toBe(Number(field(before.data, 'total')) - 1)
    const { status, metadata } = await temp.load('hello_bash')
    expect(status).toBe('success')
    expect(metadata.warnings?.join()).toMatch(
      /may not be run here: layer "project harness", rule "project\/rules\/1"/,
    )
  })

  test('PRM-10: tools of a server that is not listed are not found', async () => {
    mkdirSync(join(temp.project, '.ai/tools'), { recursive: true })
    temp.write(
      'tools/linear_list.yaml',
      'tool_type: mcp_tool\nexecutor: mcp_linear\nversion: 1.0.0\ndescription: lists zebras\nconfig: { mcp_tool_name: list }\n',
    )
    expect(resultsOf(await temp.search('zebras'))).toHaveLength(1)
    harness('mode: proxy\n')
    expect(resultsOf(await temp.search('zebras'))).toEqual([])
    harness('mode: proxy\nmcps: { linear: {} }\n')
    expect(resultsOf(await temp.search('zebras'))).toHaveLength(1)
  })
})

describe('PRM-09: policy sees the id that runs', () => {
  test.each([
    'hello_bash@1.0.0',
    'samples/hello_bash',
    'HELLO_BASH',
    ' hello_bash',
    'hello_bash\n',
    'mcp:../hello_bash',
  ])('PRM-09: %j does not go round a rule', async (id) => {
    harness('mode: direct\nrules:\n  - { op: tool, match: { tool: hello_bash }, effect: deny }\n')
    const { error, status } = await run(id)
    expect(status).toBe('error')
    expect(['PERMISSION_DENIED', 'INVALID_PARAMETERS', 'NOT_FOUND']).toContain(error?.code)
  })
})

describe('runs', () => {
  test('D9, PRM-01: a call that names its run is judged by what the directive grants; one without is not', async () => {
    const { id } = await temp.kiwi.openRun(order())
    expect((await run('hello_bash')).status).toBe('success')
    expect((await run('hello_bash', { run_id: id })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Cannot use "hello_bash": layer "directive greet" has no rule for it',
      details: {
        layer: 'directive greet',
        rule: null,
        required: '<execute resource="tool" id="hello_bash"/>',
      },
    })
    const granted = await temp.kiwi.openRun(order({ permissions: HELLO }))
    const { status, metadata } = await run('hello_bash', { run_id: granted.id })
    expect(status).toBe('success')
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(records).toMatchObject([
      { kind: 'outcome', session: granted.id },
      { kind: 'decision', session: granted.id, parent_session: 'session-1' },
    ])
  })

  test('R51: a child is held to its parent, and its refusal names the ceiling', async () => {
    const parent = await temp.kiwi.openRun(order({ permissions: '<permissions><delegate/></permissions>' }))
    const child = await temp.kiwi.openRun(
      order({ parent: parent.id, directive: 'child', permissions: HELLO }),
    )
    const { error, metadata } = await run('hello_bash', { run_id: child.id })
    expect(error).toMatchObject({
      details: { layer: 'ceiling of directive greet' },
      hint: 'Add <execute resource="tool" id="hello_bash"/> to <delegate> of the directive "greet"',
    })
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(records[1]?.parent_session).toBe(parent.id)
  })

  test('PRM-03: tools named at the spawn narrow it', async () => {
    const { id } = await temp.kiwi.openRun(order({ permissions: null, tools: ['hello_node'] }))
    expect((await run('hello_bash', { run_id: id })).error?.code).toBe('PERMISSION_DENIED')
    expect((await run('hello_node', { run_id: id })).status).toBe('success')
  })

  test('PRM-05: within a run, what an agent made is judged to the program', async () => {
    await temp.create('made', BASH, { 'main.sh': 'echo made' })
    const { id } = await temp.kiwi.openRun(
      order({ permissions: '<permissions><execute resource="tool" id="made"/></permissions>' }),
    )
    expect((await run('made', { run_id: id })).error).toMatchObject({
      details: { op: 'exec', required: '<execute resource="shell" commands="bash"/>' },
    })
  })

  test.each(['unknown', 'closed', 'of another'])('PRM-10: a run that is %s is not found', async (what) => {
    const { id } = await temp.kiwi.openRun(order(what === 'of another' ? { principal: 'other' } : {}))
    if (what === 'closed') await temp.kiwi.closeRun(id)
    const { error } = await run('hello_bash', { run_id: what === 'unknown' ? 'nobody' : id })
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(
        what === 'closed' ? /^Cannot find the run "\w+": it is over$/ : /^Cannot find the run "\w+"$/,
      ),
    })
    await expect(
      temp.kiwi.openRun(order({ parent: what === 'unknown' ? 'nobody' : id })),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('FS-08: no context is a layer too: it is named on record, and never an absence', async () => {
    const { metadata } = await run('hello_bash')
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    expect(textField(records[1]?.body, 'layer')).toBe('machine')
  })

  test('R55: what of its permissions means nothing is said, and what cannot be read is refused', async () => {
    const { warnings, secrets } = await temp.kiwi.openRun(
      order({
        permissions: '<permissions><execute resource="browser"/><read resource="env" var="X"/></permissions>',
      }),
    )
    expect(warnings).toEqual([
      'line 1: <execute resource="browser"/> grants nothing: there is no such resource or server',
    ])
    expect(secrets).toEqual(['X'])
    await expect(temp.kiwi.openRun(order({ permissions: '<permissions>' }))).rejects.toMatchObject({
      code: 'PARSE_ERROR',
    })
  })

  test('R51: a run outlives the process that began it', async () => {
    const { id } = await temp.kiwi.openRun(order({ permissions: HELLO }))
    const other = await openTempKiwi({ beside: temp })
    const reply = await other.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'hello_bash',
      run_id: id,
    })
    expect(reply.status).toBe('success')
    await other.close()
  })
})

test('H9: where a file says so, what cannot be undone asks, and what can be undone does not', async () => {
  temp.write('config/agent_harness.yaml', 'mode: direct\nirreversible: ask\n')
  const api = { tool_type: 'api', executor: 'http_client', description: 'posts', mutates_state: true }
  await temp.create('post', { ...api, config: { method: 'POST', url: 'https://example.org/x' } })
  expect(await temp.run('post')).toMatchObject({
    status: 'approval_required',
    data: { summary: expect.stringContaining('project/irreversible') },
  })
  // Nobody said what it changes.
  const { mutates_state: _said, ...silent } = api
  await temp.create('put', { ...silent, config: { method: 'PUT', url: 'https://example.org/x' } })
  expect(await temp.run('put')).toMatchObject({
    status: 'approval_required',
    data: { summary: expect.stringContaining('cannot be undone: nothing says what it changes') },
  })
  await temp.create('get', { ...silent, config: { method: 'GET', url: 'https://example.org/x' } })
  expect((await run('get', { dry_run: true })).data).toMatchObject({ would_ask: false })
  expect(await temp.run('hello_bash')).toMatchObject({ status: 'success' })
  expect(await temp.run('filesystem.write', { path: 'a.txt', content: 'a' })).toMatchObject({
    status: 'success',
  })
  expect(await temp.run('filesystem.read', { path: 'a.txt' })).toMatchObject({ status: 'success' })
})
