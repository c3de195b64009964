import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { begin, writeDirective } from '../fixtures/directive-kiwi.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const permissions = (...rows: readonly string[]): string => `<permissions>${rows.join('')}</permissions>`
const tools = (...rows: readonly string[]): string => `<tools>${rows.join('')}</tools>`
const READ = '<read resource="filesystem" path="**/*"/>'
const put = (path: string): string => {
  const file = join(temp.project, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, path)
  return file
}
const use = (item_id: string, { data }: Reply, parameters: object = {}): Promise<Reply> =>
  temp.call('execute', {
    item_type: 'tool',
    action: 'run',
    item_id,
    run_id: textField(data, 'run_id'),
    parameters,
  })
const context = ({ data }: Reply, ...path: readonly (string | number)[]): unknown =>
  field(data, 'tool_context', ...path)
const namesIn = ({ data }: Reply, key: string): readonly unknown[] =>
  listField(data, 'tool_context', key, 'tools').map((tool) => field(tool, 'name'))

describe('D8: what is wanted narrows what is granted', () => {
  test('D8: a path inside the permission but outside <filesystem> is refused', async () => {
    writeDirective(
      temp,
      'd',
      permissions(READ) + tools('<filesystem><read paths="src/**, docs/*.md"/></filesystem>'),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'filesystem', 'constraints')).toEqual({
      read_paths: ['src/**', 'docs/*.md'],
      write_paths: [],
    })
    expect(namesIn(reply, 'filesystem')).toEqual([
      'filesystem.list',
      'filesystem.read',
      'filesystem.search',
      'filesystem.stat',
    ])
    expect((await use('filesystem.read', reply, { path: put('src/a.ts') })).status).toBe('success')
    expect((await use('filesystem.read', reply, { path: put('secret/a.ts') })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      hint: expect.stringContaining('to <tools> of the directive "d"'),
      details: {
        layer: 'tools of directive d',
        op: 'read',
        required: expect.stringContaining('<filesystem><read paths="'),
      },
    })
  })

  test('D8, D10: a path that is wanted and not granted is left out, with the line to add', async () => {
    writeDirective(
      temp,
      'd',
      permissions('<read resource="filesystem" path="src/lib/**"/>') +
        tools('<filesystem><read paths="src/**,etc/**"/><write paths="out/**"/></filesystem>'),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'filesystem', 'constraints')).toEqual({
      read_paths: ['src/lib/**'],
      write_paths: [],
    })
    expect(field(reply.data, 'warnings')).toEqual([
      '"read src/**" is left out: add <read resource="filesystem" path="src/**"/> to <permissions>',
      '"read etc/**" is left out: add <read resource="filesystem" path="etc/**"/> to <permissions>',
      '"write out/**" is left out: add <write resource="filesystem" path="out/**"/> to <permissions>',
    ])
    expect((await use('filesystem.read', reply, { path: put('src/a.ts') })).error?.code).toBe(
      'PERMISSION_DENIED',
    )
    expect((await use('filesystem.read', reply, { path: put('src/lib/a.ts') })).status).toBe('success')
  })

  test('D8, D13: of paths that overlap, what they have in common is shown, and is what can be read', async () => {
    writeDirective(
      temp,
      'd',
      permissions('<read resource="filesystem" path="**/*.ts"/>') +
        tools('<filesystem><read paths="src/**"/></filesystem>'),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'filesystem')).toMatchObject({
      available: true,
      constraints: { read_paths: ['src/**/*.ts'], write_paths: [] },
    })
    expect(listField(reply.data, 'permissions', 'granted')[0]).toMatch(/^allow read \/.*\/src\/\*\*\/\*\.ts$/)
    expect((await use('filesystem.read', reply, { path: put('src/a.ts') })).status).toBe('success')
    for (const path of ['src/a.md', 'a.ts'])
      expect((await use('filesystem.read', reply, { path: put(path) })).error?.code).toBe('PERMISSION_DENIED')
  })

  test('D8: of programs those stay that are both wanted and granted', async () => {
    writeDirective(
      temp,
      'd',
      permissions('<execute resource="shell" commands="echo,ls"/>') + tools('<shell commands="echo,npm"/>'),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'shell')).toMatchObject({
      available: true,
      tools: [{ name: 'shell.run', inputSchema: expect.any(Object) }],
      constraints: { allowed_commands: ['echo'] },
    })
    expect(field(reply.data, 'warnings')).toEqual([
      '"shell npm" is left out: add <execute resource="shell" commands="npm"/> to <permissions>',
    ])
    expect((await use('shell.run', reply, { argv: ['echo', 'x'] })).status).toBe('success')
    expect((await use('shell.run', reply, { argv: ['ls'] })).error).toMatchObject({
      details: { layer: 'tools of directive d', required: '<shell commands="ls"/>' },
    })
  })

  test('D8, D9: of a program those commands stay that are written, and those that are denied do not', async () => {
    writeDirective(
      temp,
      'd',
      permissions(
        '<execute resource="shell" commands="echo, ls -a"/>',
        '<shell><command pattern="git *"/></shell>',
        '<deny><execute resource="shell" commands="echo secret, git push"/></deny>',
      ),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'shell', 'constraints')).toEqual({ allowed_commands: ['echo', 'ls -a', 'git *'] })
    expect(field(reply.data, 'warnings')).toEqual([])
    const say = async (...argv: readonly string[]): Promise<unknown> =>
      (await use('shell.run', reply, { argv })).error?.code ?? 'done'
    expect(await say('echo', 'x')).toBe('done')
    expect(await say('ls', '-a')).toBe('done')
    expect(await say('ls')).toBe('PERMISSION_DENIED')
    expect(await say('echo', 'a', 'secret')).toBe('PERMISSION_DENIED')
    expect(await say('git', 'push', 'origin')).toBe('PERMISSION_DENIED')
  })

  test('D8: what is not spoken of stays as it is granted', async () => {
    writeDirective(
      temp,
      'd',
      permissions(
        READ,
        '<shell><command pattern="git log *"/></shell>',
        '<execute resource="git" action="status"/>',
      ) + tools('<kiwi><search types="knowledge"/></kiwi>'),
    )
    const reply = await begin(temp, 'd')
    expect(context(reply, 'filesystem', 'constraints')).toEqual({ read_paths: ['**'], write_paths: [] })
    expect(context(reply, 'shell', 'constraints')).toEqual({ allowed_commands: ['git log *'] })
    expect(namesIn(reply, 'git')).toEqual(['git.status'])
    expect(context(reply, 'kiwi')).toMatchObject({
      tools: [{ name: 'execute' }],
      constraints: { actions: ['run', 'finish'], search_types: ['knowledge'] },
    })
    expect(field(reply.data, 'warnings')).toEqual([
      '"kiwi search" is left out: add <execute resource="kiwi-mcp" action="search"/> to <permissions>',
    ])
  })

  test('D8: changing items takes both the grant and the wish', async () => {
    const create = '<kiwi><execute actions="create,delete"/></kiwi>'
    writeDirective(temp, 'd', permissions(create) + tools('<kiwi><execute actions="run,create"/></kiwi>'))
    const reply = await begin(temp, 'd')
    expect(context(reply, 'kiwi', 'constraints', 'actions')).toEqual(['run', 'create', 'finish'])
    const gone = await temp.call('execute', {
      item_type: 'tool',
      action: 'delete',
      item_id: 'd',
      run_id: textField(reply.data, 'run_id'),
      parameters: { confirm: true },
    })
    expect(gone.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { required: '<kiwi><execute actions="delete"/></kiwi>' },
    })
  })

  test('D8: a child may no more than what its parent both wants and may', async () => {
    const child = '<execute><directive>child</directive></execute>'
    writeDirective(
      temp,
      'parent',
      permissions(child, READ) + tools('<filesystem><read paths="src/**"/></filesystem>'),
    )
    writeDirective(temp, 'child', permissions(READ))
    const parent = await begin(temp, 'parent')
    const reply = await begin(temp, 'child', { run_id: textField(parent.data, 'run_id') })
    expect((await use('filesystem.read', reply, { path: put('src/a') })).status).toBe('success')
    expect((await use('filesystem.read', reply, { path: put('b') })).error?.code).toBe('PERMISSION_DENIED')
  })
})

test('D13, D14: what is granted by a pattern is said to be found by search, and nothing else is', async () => {
  const instructions = async (...rows: readonly string[]): Promise<string> => {
    writeDirective(temp, 'd', rows.join(''))
    return textField((await begin(temp, 'd')).data, 'instructions')
  }
  const ALL = '<execute resource="mcp" name="*"/>'
  expect(await instructions(permissions(READ))).toContain('tool_context holds every tool you may use')
  const open = await instructions(permissions('<execute resource="tool" id="hello_*"/>', ALL))
  expect(open).toContain('You may also use what fits "hello_*", "*.*": find it with search')
  const named = await instructions(permissions(ALL) + tools('<mcp name="nowhere"/>'))
  expect(named).toContain('tool_context holds every tool you may use')
})

describe('R55: scripts', () => {
  test('R55, D13: naming one is its grant, and it is there with its parameters', async () => {
    const manifest = { ...BASH, parameters: [{ name: 'file', type: 'string', required: true }] }
    expect((await temp.create('validate', manifest, { 'main.sh': 'echo ok' })).error).toBeNull()
    writeDirective(temp, 'd', tools('<script name="validate"/>', '<script name="gone"/>'))
    const reply = await begin(temp, 'd')
    expect(context(reply, 'scripts')).toMatchObject({
      available: true,
      tools: [{ name: 'validate', parameters: [{ name: 'file', type: 'string', required: true }] }],
    })
    expect(field(reply.data, 'warnings')).toEqual([
      '"validate" starts "bash" and is signed by nobody, so it is refused: sign it, or add <execute resource="shell" commands="bash"/> to <permissions> of the directive "d"',
      '"gone" is left out: there is no such tool here',
    ])
    expect((await use('validate', reply, { file: 'x' })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      hint: 'A person who has looked at it signs it: kiwi sign validate. Otherwise: Add <execute resource="shell" commands="bash"/> to <permissions> of the directive "d"',
      details: { op: 'exec', required: '<execute resource="shell" commands="bash"/>' },
    })
    expect(field(reply.data, 'permissions', 'granted')).toEqual(['allow tool validate', 'allow tool gone'])
    expect((await use('hello_bash', reply)).error?.code).toBe('PERMISSION_DENIED')
  })

  test.each(['*', 'hello_*', 'hello_bas?'])(
    'R55: %s names none: a pattern is refused with its line',
    async (name) => {
      writeDirective(temp, 'd', tools(`<script name="${name}"/>`))
      expect((await begin(temp, 'd')).error).toMatchObject({
        code: 'PARSE_ERROR',
        message: expect.stringContaining(`the script "${name}" is a pattern`),
        details: { line: expect.any(Number) },
      })
      const sign = { item_type: 'directive', action: 'sign', item_id: 'd' }
      expect((await temp.call('execute', sign)).error?.code).toBe('PARSE_ERROR')
    },
  )

  test('R55: it still runs under the layers of the directive', async () => {
    writeDirective(temp, 'd', tools('<script name="hello_bash"/>'))
    expect((await use('hello_bash', await begin(temp, 'd'))).status).toBe('success')
    temp.write(
      'config/agent_harness.yaml',
      'mode: direct\nrules:\n  - { op: tool, match: { tool: hello_bash }, effect: deny }\n',
    )
    expect((await begin(temp, 'd')).data).toMatchObject({
      tool_context: { scripts: { available: false, tools: [], error: 'none of them can be used' } },
      warnings: [expect.stringContaining('"hello_bash" is left out: change "rules/1"')],
    })
  })
})

describe('D2: inputs', () => {
  const INPUTS =
    '<inputs><input name="branch" required="true">What to deploy</input><input name="count" type="integer" required="true"/><input name="tags" type="array"/><input name="mode" default="fast" enum="fast,slow"/></inputs>'
  const STEP =
    '<process><step name="go" condition="{mode} is set"><action>Deploy {branch} {other}</action></step></process>'
  const deploy = (parameters: object): Promise<Reply> => begin(temp, 'd', { parameters })

  beforeEach(() => {
    writeDirective(temp, 'd', permissions(), INPUTS + STEP)
  })

  test('D2: all that is missing is listed with what it is for, and nothing is begun', async () => {
    expect((await deploy({})).error).toMatchObject({
      code: 'MISSING_INPUTS',
      message: 'Cannot run "d": "branch" is missing (What to deploy); "count" is missing',
      details: {
        missing: ['branch', 'count'],
        missing_inputs: [
          { name: 'branch', type: 'string', description: 'What to deploy' },
          { name: 'count', type: 'integer', description: '' },
        ],
      },
    })
    expect(await temp.kiwi.store.records({ limit: 9, status: 'success' })).toEqual([])
  })

  test('D2: what is of another type, or none of those allowed, is refused', async () => {
    expect(
      (await deploy({ branch: 'a', count: 'many', tags: {}, mode: 'off' })).error?.details,
    ).toMatchObject({
      missing: [],
      invalid: [
        { name: 'count', reason: 'must be of type integer' },
        { name: 'tags', reason: 'must be of type array' },
        { name: 'mode', reason: 'must be one of "fast", "slow"' },
      ],
    })
  })

  test('D2: what lies outside of the schema of an input is refused, of one that is handed down too', async () => {
    writeDirective(
      temp,
      'base',
      permissions(),
      '<inputs><input name="port" type="integer" minimum="1024"/><input name="tag" pattern="^x"/></inputs>',
    )
    temp.write(
      'directives/child.md',
      `---
name: child
version: 1.0.0
description: A child
extends: base
inputs:
  - { name: tag, pattern: '^v[0-9]+$' }
  - { name: names, type: array, items: { type: string }, maxItems: 2 }
---
Go.
`,
    )
    const child = (parameters: object): Promise<Reply> => begin(temp, 'child', { parameters })
    expect((await child({ port: 80, tag: 'x1', names: ['a', 2] })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: {
        invalid: [{ name: 'tag' }, { name: 'names.1', reason: 'must be string' }, { name: 'port' }],
      },
    })
    expect(await child({ port: 8080, tag: 'v1', names: ['a'] })).toMatchObject({ status: 'ready' })
  })

  test('D2, D12: values are filled in once, defaults too; what is no input is said', async () => {
    const { data } = await deploy({ branch: '{count} "x"', count: '3', tags: '["a"]', other: 1 })
    expect(data).toMatchObject({
      directive: {
        inputs: { branch: '{count} "x"', count: 3, tags: ['a'], mode: 'fast' },
        process: [{ name: 'go', condition: 'fast is set', action: 'Deploy {count} "x" {other}' }],
      },
      warnings: expect.arrayContaining(['"other" is no input of "d": it is not filled in anywhere']),
    })
  })
})

test('D13: a directive that is too large for one answer says first how it is read', async () => {
  writeDirective(
    temp,
    'd',
    '',
    `<inputs><input name="x" required="true"/></inputs><process><step name="a"><action>${'{x}'.repeat(10)}</action></step></process>`,
  )
  const { data } = await begin(temp, 'd', { parameters: { x: 'y'.repeat(100_000) } })
  expect(data).toMatchObject({
    directive: null,
    instructions: expect.stringMatching(/^The directive is too large .* rest, page by page/),
  })
  const whole = await temp.call('load', field(data, 'rest', 'arguments'))
  expect(textField(whole.data, 'text')).toMatch(/^\{"run_id":.*"directive":\{"name":"d"/)
})

test('D13: a step that may not read is told which grant would let it, as check tells it', async () => {
  writeDirective(temp, 'd', '', '<process><step name="a"><call tool="filesystem.read"/></step></process>')
  expect((await begin(temp, 'd')).data).toMatchObject({
    warnings: [expect.stringContaining('add <read resource="filesystem" path="**/*"/> to <permissions>')],
  })
})

test('D13: a large answer says how its schemas are loaded, and is kept whole', async () => {
  const parameters = Array.from({ length: 200 }, (_, n) => ({
    name: `parameter_${n}`,
    type: 'string',
    description: 'x'.repeat(200),
  }))
  await temp.create('large', { ...BASH, parameters }, { 'main.sh': 'true' })
  writeDirective(temp, 'd', tools('<script name="large"/>', '<script name="hello_bash"/>'))
  const { data } = await begin(temp, 'd')
  expect(JSON.stringify(data).length).toBeLessThan(32_768)
  expect(data).toMatchObject({
    run_id: expect.any(String),
    tool_context: {
      scripts: {
        tools: [{ name: 'large', load: { item_type: 'tool', item_id: 'large' } }, { name: 'hello_bash' }],
      },
    },
    truncated: true,
    rest: { call: 'load', arguments: { path: expect.stringContaining('result:') } },
  })
})
