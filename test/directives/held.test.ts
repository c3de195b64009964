import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../src/meta/meta.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const execute = (args: object): Promise<Reply> => temp.call('execute', args)
const directive = (id: string, action: string): object => ({ item_type: 'directive', action, item_id: id })
const sessionOf = (session: string): Client => ({
  principal: 'tester',
  session,
  kind: 'agent',
  defaultProject: () => Promise.resolve(temp.project),
})
const begin = async (mode: string, more = ''): Promise<string> => {
  const permissions = `<permissions><execute resource="tool" id="hello_bash"/>${more}</permissions>`
  temp.write(
    'directives/greet.md',
    `<directive name="greet" version="1.0.0"><metadata><description>says hello</description>${permissions}</metadata></directive>\n`,
  )
  expect((await execute(directive('greet', 'sign'))).error).toBeNull()
  temp.write('config/agent_harness.yaml', `mode: ${mode}\n`)
  const reply = await execute(directive('greet', 'run'))
  expect(reply).toMatchObject({ status: 'ready', error: null })
  return textField(reply.data, 'run_id')
}

describe('a session that has begun a run', () => {
  test('D9, H1: stays inside of it in proxy mode until it is over, whether or not its calls say so', async () => {
    const id = await begin('proxy')
    expect((await temp.run('hello_bash')).status).toBe('success')
    expect((await temp.run('hello_node')).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'directive greet' },
    })
    expect((await temp.search('hello')).status).toBe('success')
    const ended = await execute({ item_type: 'directive', action: 'finish', item_id: id })
    expect(ended.status).toBe('success')
    expect((await temp.run('hello_node')).status).toBe('success')
  })

  test('D9, H11: what it does is on record as calls of the run, its end among them', async () => {
    const id = await begin('proxy')
    await temp.run('hello_bash')
    await temp.run('hello_node')
    await execute({ item_type: 'directive', action: 'finish', item_id: id })
    const records = await temp.kiwi.store.records({ limit: 20, after: 0, session: id })
    const ends = records.filter(({ kind }) => kind === 'outcome')
    expect(ends.map(({ operation, tool, status }) => [operation, tool, status])).toEqual([
      ['execute.run', 'hello_bash', 'success'],
      ['execute.run', 'hello_node', 'denied'],
      ['execute.finish', id, 'success'],
    ])
  })

  test('D9: a directive it begins is a child of the run, whose end leads back to it', async () => {
    const id = await begin('proxy', '<execute><directive>greet</directive></execute>')
    const again = await execute({ item_type: 'directive', action: 'run', item_id: 'greet' })
    const child = textField(again.data, 'run_id')
    const [begun] = await temp.kiwi.store.records({ limit: 1, call_id: again.metadata.call_id })
    expect(begun?.session).toBe(id)
    await execute({ item_type: 'directive', action: 'finish', item_id: child })
    expect((await temp.run('hello_node')).error?.code).toBe('PERMISSION_DENIED')
    await execute({ item_type: 'directive', action: 'finish', item_id: id })
    expect((await temp.run('hello_node')).status).toBe('success')
  })

  test('D9, N6: in direct mode a call that does not name the run is interactive', async () => {
    await begin('direct')
    expect((await temp.run('hello_node')).status).toBe('success')
  })

  test('D9: one that is held names its run and those below it, and no run of another session', async () => {
    const other = sessionOf('session-2')
    const wide = `<directive name="wide" version="1.0.0"><metadata><description>all</description>
<permissions><execute resource="tool" id="*"/></permissions></metadata></directive>\n`
    temp.write('directives/wide.md', wide)
    expect((await temp.kiwi.call('execute', directive('wide', 'sign'), other)).error).toBeNull()
    const id = await begin('proxy', '<execute><directive>greet</directive></execute>')
    const begun = await temp.kiwi.call('execute', directive('wide', 'run'), other)
    const theirs = textField(begun.data, 'run_id')
    const tool = { item_type: 'tool', action: 'run', item_id: 'hello_node' }
    expect((await execute({ ...tool, run_id: theirs })).error?.code).toBe('NOT_FOUND')
    expect((await execute({ ...directive('greet', 'run'), run_id: theirs })).error?.code).toBe('NOT_FOUND')
    expect((await execute(directive(theirs, 'finish'))).error?.code).toBe('NOT_FOUND')
    expect((await temp.kiwi.call('execute', { ...tool, run_id: theirs }, other)).status).toBe('success')
    const greet = { ...tool, item_id: 'hello_bash' }
    expect((await execute({ ...greet, run_id: id })).status).toBe('success')
    const child = textField((await execute(directive('greet', 'run'))).data, 'run_id')
    expect((await execute({ ...greet, run_id: child })).status).toBe('success')
    expect((await execute({ ...greet, run_id: id })).error).toMatchObject({
      code: 'NOT_FOUND',
      hint: expect.stringContaining('until it ends that one with finish'),
    })
    expect((await execute(directive(id, 'finish'))).status).toBe('success')
    expect((await temp.run('hello_node')).status).toBe('success')
  })

  test('D9: what a session stays inside of is ended by that session or a person, an interactive run by any', async () => {
    const id = await begin('proxy')
    const other = sessionOf('session-2')
    expect((await temp.kiwi.call('execute', directive(id, 'finish'), other)).error).toMatchObject({
      code: 'NOT_FOUND',
      message: `Cannot find the run "${id}" among yours: another session stays inside of it`,
      hint: expect.stringContaining(`kiwi finish ${id}`),
    })
    expect((await temp.run('hello_node')).error?.code).toBe('PERMISSION_DENIED')
    const person = { ...other, kind: 'person', principal: 'user:ada' } as const
    expect((await temp.kiwi.call('execute', directive(id, 'finish'), person)).status).toBe('success')
    temp.write('config/agent_harness.yaml', 'mode: direct\n')
    const free = textField((await execute(directive('greet', 'run'))).data, 'run_id')
    expect((await temp.kiwi.call('execute', directive(free, 'finish'), other)).status).toBe('success')
  })

  test('D9, S8: a run is finished by its directive with run_id beside it, and by no other name', async () => {
    const id = await begin('direct')
    const given = { ...directive('greet', 'finish'), parameters: { run_id: id } }
    expect((await execute({ ...given, item_id: 'git_checkpoint' })).error).toMatchObject({
      code: 'NOT_FOUND',
      message: `Cannot finish "git_checkpoint": the run "${id}" is of "greet"`,
      fix: { arguments: { item_id: id } },
    })
    expect((await execute(given)).data).toMatchObject({ run_id: id, directive: 'greet' })
    const second = textField((await execute(directive('greet', 'run'))).data, 'run_id')
    expect((await execute({ ...directive('greet', 'finish'), run_id: second })).status).toBe('success')
    expect((await execute(given)).error).toMatchObject({ details: { is_over: true } })
  })

  test('D9, S8: who has lost the run_id is told it by a refusal, and ends the run it is in by naming none', async () => {
    const id = await begin('proxy')
    expect((await temp.run('hello_node')).error).toMatchObject({ details: { run_id: id } })
    expect((await execute(directive('git_checkpoint', 'finish'))).error).toMatchObject({
      message: `Cannot finish "git_checkpoint": the run "${id}" is of "greet"`,
      fix: { arguments: { action: 'finish', item_id: id } },
    })
    expect((await execute(directive('greet', 'finish'))).data).toMatchObject({ run_id: id })
    const second = textField((await execute(directive('greet', 'run'))).data, 'run_id')
    const ended = await execute({ item_type: 'directive', action: 'finish' })
    expect(ended.data).toMatchObject({ run_id: second, directive: 'greet' })
    expect((await temp.run('hello_node')).status).toBe('success')
  })

  test.each([
    ['beside the arguments', (id: string) => ({ ...directive('greet', 'finish'), run_id: id })],
    ['alone', (id: string) => ({ item_type: 'directive', action: 'finish', run_id: id })],
    ['twice', (id: string) => ({ ...directive(id, 'finish'), run_id: id })],
    ['in parameters', (id: string) => ({ ...directive('greet', 'finish'), parameters: { run_id: id } })],
  ])(
    'D9, S8: from within another a run is ended with its run_id %s, and that one with it',
    async (_, args) => {
      const id = await begin('proxy', '<execute><directive>greet</directive></execute>')
      const child = textField((await execute(directive('greet', 'run'))).data, 'run_id')
      expect((await execute(args('01M7PEGPAZFS1E8A1F4G52T5A2'))).error).toMatchObject({ code: 'NOT_FOUND' })
      expect((await execute(args(id))).data).toMatchObject({ run_id: id, directive: 'greet' })
      expect((await execute(directive(child, 'finish'))).error).toMatchObject({ details: { is_over: true } })
      expect((await temp.run('hello_node')).status).toBe('success')
    },
  )

  test('D9, S8: where no session is held, a run is ended by its id alone', async () => {
    const id = await begin('direct')
    for (const args of [directive('greet', 'finish'), { item_type: 'directive', action: 'finish' }])
      expect((await execute(args)).error).toMatchObject({
        code: 'INVALID_PARAMETERS',
        message: expect.stringContaining('it is not said which run'),
        hint: expect.stringContaining('run_id'),
        details: { missing: ['run_id'] },
      })
    const named = { item_type: 'directive', action: 'finish', run_id: id }
    expect((await execute(named)).data).toMatchObject({ run_id: id })
  })

  test('D9: other sessions, and those that several clients share, stay free', async () => {
    await begin('proxy')
    const args = { item_type: 'tool', action: 'run', item_id: 'hello_node' }
    expect((await temp.kiwi.call('execute', args, sessionOf('session-2'))).status).toBe('success')
    const shared = { ...sessionOf('session-3'), isShared: true }
    expect((await temp.kiwi.call('execute', directive('greet', 'run'), shared)).status).toBe('ready')
    expect((await temp.kiwi.call('execute', args, shared)).status).toBe('success')
  })
})
