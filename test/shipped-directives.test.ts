import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkDirective } from '../src/kernel/directive/check-directive.ts'
import { parseItemRef } from '../src/shared/ids.ts'
import type { Reply } from '../src/shared/reply.ts'
import { sendCalls } from './fixtures/directive-kiwi.ts'
import { field, listField, textField } from './fixtures/field.ts'
import { openRepository } from './fixtures/repository.ts'
import { writeServers } from './fixtures/shifting-server.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from './temp-kiwi.ts'

const SERVER = fileURLToPath(new URL('fixtures/upstream.mjs', import.meta.url))

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const begin = async (item_id: string, parameters: object = {}): Promise<string> => {
  const reply = await temp.call('execute', { item_type: 'directive', action: 'run', item_id, parameters })
  expect(reply).toMatchObject({ status: 'ready', error: null })
  // Each of its grants means something, and each tool it names is there.
  expect(JSON.stringify([reply.data, reply.metadata.warnings ?? []])).not.toContain('grants nothing')
  expect(reply.metadata.warnings ?? []).toEqual([])
  return textField(reply.data, 'run_id')
}
/** A call of the run, as an agent that follows the directive makes it. */
const execute = (
  run_id: string,
  [item_type, action]: readonly [string, string],
  item_id: string,
  parameters: object = {},
): Promise<Reply> => temp.call('execute', { item_type, action, item_id, parameters, run_id })
const done = async (reply: Promise<Reply>): Promise<unknown> => {
  const { status, data, error } = await reply
  expect([status, error]).toEqual(['success', null])
  return data
}
const finish = (id: string): Promise<unknown> =>
  done(temp.call('execute', { item_type: 'directive', action: 'finish', item_id: id }))

const INPUTS: Readonly<Record<string, object>> = {
  create_tool: { need: 'count words', name: 'word_count' },
  wrap_mcp_server: { server: 'own' },
}
const SHIPPED = readdirSync('builtin/directives').map((file) => file.replace('.md', ''))

describe('D17: the directives that are shipped', () => {
  test('D17: are these', () => {
    expect(SHIPPED.toSorted()).toEqual(['create_tool', 'git_checkpoint', 'review_changes', 'wrap_mcp_server'])
  })

  test.each(SHIPPED)('D17: %s is found by what it does, and runs to ready without a warning', async (id) => {
    const { data } = await temp.load(id, { item_type: 'directive' })
    const found = resultsOf(await temp.search(textField(data, 'description'), { item_type: 'directive' }))
    expect(found[0]).toMatchObject({ id })
    await finish(await begin(id, INPUTS[id]))
  })

  test.each(SHIPPED)('D17: every tool and item that %s names is there', async (id) => {
    const { data } = await temp.load(id, { item_type: 'directive' })
    const text = textField(data, 'files', 0, 'content')
    const named = [
      ...Array.from(text.matchAll(/<execute item_type="tool" item_id="([\w.]+)"/g), ([, tool]) => [
        'tool',
        tool,
      ]),
      ...Array.from(text.matchAll(/<script name="([\w.]+)"/g), ([, tool]) => ['tool', tool]),
      ...Array.from(text.matchAll(/\b((?:git|filesystem|shell)\.[a-z]+)\b/g), ([, tool]) => ['tool', tool]),
      ...Array.from(text.matchAll(/<load item_type="(\w+)" item_id="([\w-]+)"/g), ([, type, item]) => [
        type,
        item,
      ]),
      ...Array.from(text.matchAll(/directive="(\w+)"/g), ([, item]) => ['directive', item]),
    ]
    for (const [item_type, item_id] of named)
      expect((await temp.call('load', { item_type, item_id })).error, `${item_type} ${item_id}`).toBeNull()
  })
})

test.each(SHIPPED)(
  'D17: %s is read without a finding, and wants nothing that it does not grant',
  async (id) => {
    const lookup = temp.kiwi.spaces.at(temp.project)
    const item = await lookup.find(parseItemRef(id), 'directive')
    if (item === null) throw new Error(`${id} is not there`)
    const checked = await checkDirective(item, { lookup, home: temp.folder })
    expect(checked).toMatchObject({
      directive: { findings: [] },
      granted: { reports: [], secrets: [] },
      excess: [],
      unknownServers: [],
    })
  },
)

test.each(SHIPPED)('D17, D11: every call of %s can be sent as it is handed over', async (id) => {
  openRepository(temp.project)
  await temp.create('word_count', BASH, { 'main.sh': 'true' })
  writeServers(temp, 'user', { own: { command: process.execPath, args: [SERVER] } })
  const parameters = INPUTS[id] ?? {}
  const { data } = await temp.call('execute', {
    item_type: 'directive',
    action: 'run',
    item_id: id,
    parameters,
  })
  const sent = await sendCalls(temp, data)
  expect(sent.length).toBeGreaterThan(1)
  for (const { call, reply } of sent)
    expect([reply.status, reply.error], JSON.stringify(call)).toEqual(['success', null])
  const names = Object.values(Object(field(data, 'tool_context')))
    .flatMap((entry) => listField(entry, 'tools'))
    .map((tool) => textField(tool, 'name'))
  expect(names).toEqual([...new Set(names)])
  for (const { call } of sent) expect(names).toContain(textField(call, 'tool'))
})

test.each([
  ['create_tool', ['run', 'create', 'update', 'sign', 'finish']],
  ['wrap_mcp_server', ['run', 'create', 'update', 'discover', 'finish']],
])('D17, D13: what %s does with items is among what it is told it may do', async (item_id, actions) => {
  const parameters = INPUTS[item_id] ?? {}
  const { data } = await temp.call('execute', { item_type: 'directive', action: 'run', item_id, parameters })
  expect(field(data, 'tool_context', 'kiwi', 'constraints', 'actions')).toEqual(actions)
})

test('D17, D2: an input of git_checkpoint that was not given leaves nothing behind, and that is said', async () => {
  const { data } = await temp.call('execute', {
    item_type: 'directive',
    action: 'run',
    item_id: 'git_checkpoint',
  })
  expect(data).toMatchObject({ directive: { inputs: { reason: null, name: 'manual' } } })
  expect(JSON.stringify(field(data, 'directive', 'process'))).not.toMatch(/\{\w+\}/)
})

describe('D17: followed to their end', () => {
  test('D17: git_checkpoint records what is changed', async () => {
    const { git, write } = openRepository(temp.project)
    write('a.txt', 'two\n')
    const run = await begin('git_checkpoint', { reason: 'a test' })
    expect(textField(await done(execute(run, ['tool', 'run'], 'git.status')), 'output')).toContain(' M a.txt')
    expect(
      textField(await done(execute(run, ['tool', 'run'], 'git.diff', { stat: true })), 'output'),
    ).toContain('a.txt')
    const made = await done(
      execute(run, ['tool', 'run'], 'git.checkpoint', { message: 'a test', name: 'manual' }),
    )
    expect(git('show', '--format=%s', '--no-patch', textField(made, 'output', 'sha')).trim()).toBe('a test')
    expect((await execute(run, ['tool', 'run'], 'git.commit', { message: 'x' })).error?.code).toBe(
      'PERMISSION_DENIED',
    )
    await finish(run)
  })

  test('D17: review_changes reads the diff and what is around it, and can change nothing', async () => {
    const { write } = openRepository(temp.project)
    write('a.txt', 'two\n')
    write('new.txt', 'token\n')
    const run = await begin('review_changes')
    expect(textField(await done(execute(run, ['tool', 'run'], 'git.status')), 'output')).toContain(
      '?? new.txt',
    )
    for (const parameters of [
      { from: 'HEAD', stat: true },
      { from: 'HEAD', paths: ['a.txt'] },
    ])
      expect(
        textField(await done(execute(run, ['tool', 'run'], 'git.diff', parameters)), 'output'),
      ).toContain('a.txt')
    await done(execute(run, ['tool', 'run'], 'git.log', { paths: ['a.txt'] }))
    const read = await done(execute(run, ['tool', 'run'], 'filesystem.read', { path: 'new.txt' }))
    expect(JSON.stringify(read)).toContain('token')
    await done(execute(run, ['tool', 'run'], 'filesystem.search', { path: '.', pattern: 'two' }))
    for (const [id, parameters] of [
      ['filesystem.write', { path: 'a.txt', content: 'x' }],
      ['git.checkpoint', {}],
      ['shell.run', { command: 'ls' }],
    ] as const)
      expect((await execute(run, ['tool', 'run'], id, parameters)).error?.code).toBe('PERMISSION_DENIED')
    await finish(run)
  })

  test('D17: create_tool goes from a need to a tool that is tried, mended and signed', async () => {
    const run = await begin('create_tool', INPUTS['create_tool'])
    expect((await temp.search('count words', { item_type: 'tool' })).status).toBe('success')
    expect((await temp.load('kiwi-tools', { item_type: 'knowledge' })).status).toBe('success')
    const manifest = {
      tool_type: 'script',
      executor: 'python_runtime',
      description: 'Counts the words of a text',
      parameters: [{ name: 'text', type: 'string', required: true, description: 'What is counted' }],
    }
    const files = { 'main.py': 'def main(text):\n    return len(text)' }
    const create = {
      item_type: 'tool',
      action: 'create',
      item_id: 'word_count',
      parameters: { manifest, files },
    }
    expect((await temp.call('execute', { ...create, run_id: run, dry_run: true })).status).toBe('dry_run')
    await done(temp.call('execute', { ...create, run_id: run }))
    const count = (parameters: object): Promise<Reply> =>
      execute(run, ['tool', 'run'], 'word_count', parameters)
    expect(field(await done(count({ text: 'one two' })), 'output')).toBe(7)
    const mended = { files: { 'main.py': 'def main(text):\n    return len(text.split())' } }
    await done(execute(run, ['tool', 'update'], 'word_count', mended))
    expect(field(await done(count({ text: 'one two' })), 'output')).toBe(2)
    expect((await count({ words: 1 })).error?.code).toBe('INVALID_PARAMETERS')
    await done(execute(run, ['tool', 'sign'], 'word_count'))
    const { data } = await temp.load('word_count')
    expect(data).toMatchObject({
      signature: { state: 'signed' },
      call_example: { item_id: 'word_count' },
      version: '1.0.1',
    })
    expect(resultsOf(await temp.search('count words'))[0]).toMatchObject({ id: 'word_count' })
    expect((await execute(run, ['tool', 'delete'], 'word_count', { confirm: true })).error?.code).toBe(
      'PERMISSION_DENIED',
    )
    await finish(run)
  })

  test('D17: wrap_mcp_server goes from a name to tools that are found, tried and written about', async () => {
    const run = await begin('wrap_mcp_server', { server: 'own' })
    expect(resultsOf(await temp.search('mcp:own'))).toEqual([])
    // The step of the person: kiwi add own -- node upstream.mjs
    await temp.kiwi.act(
      {
        wish: () => ({
          kind: 'add_server',
          name: 'own',
          entry: { command: process.execPath, args: [SERVER] },
          to: 'user',
        }),
        operation: 'server.add',
        subject: 'own',
      },
      {
        principal: 'user:ada',
        session: 's',
        kind: 'person',
        defaultProject: () => Promise.resolve(temp.project),
      },
    )
    const { data: listed } = await temp.load('own', { item_type: 'mcp' })
    expect(listField(listed, 'tools').length).toBeGreaterThan(0)
    await done(execute(run, ['tool', 'call'], 'own.given', { a: 1 }))
    const kept = await done(execute(run, ['mcp', 'discover'], 'own'))
    expect(listField(kept, 'created')).toContain('own.given')
    await done(
      execute(run, ['knowledge', 'create'], 'own-notes', {
        description: 'What the server own is good for',
        content: 'own.given says what it was given.',
      }),
    )
    const found = resultsOf(
      await temp.search('server own good for', { item_type: 'knowledge', source: 'project' }),
    )
    expect(found[0]).toMatchObject({ id: 'own-notes' })
    writeFileSync(join(temp.project, 'x.txt'), '')
    for (const [id, parameters] of [
      ['filesystem.delete', { path: 'x.txt' }],
      ['shell.run', { command: 'ls' }],
      ['git.status', {}],
    ] as const)
      expect((await execute(run, ['tool', 'run'], id, parameters)).error?.code, id).toBe('PERMISSION_DENIED')
    await finish(run)
  })
})
