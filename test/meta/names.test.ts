import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const SCRIPT = 'tool_type: bash\nversion: 1.0.0\ndescription: a script\n'
function tool(space: 'project' | 'user', path: string, line: string): string {
  const folder =
    space === 'project' ? join(temp.project, '.ai/tools', path) : join(temp.folder, 'user/tools', path)
  put(join(folder, 'tool.yaml'), SCRIPT)
  put(join(folder, 'main.sh'), line)
  return folder
}
function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
const execute = (item_type: string, action: string, item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type, action, item_id, ...more })

describe('R4: a tool and a document may have one name', () => {
  test('a document nearer by does not hide a tool, not even a shipped one', async () => {
    tool('user', 'both', 'echo the tool')
    temp.write('knowledge/both.md', 'the document')
    temp.write('knowledge/hello_bash.md', 'another document')
    expect(await temp.run('both')).toMatchObject({ data: { output: 'the tool\n' } })
    expect(await temp.run('hello_bash')).toMatchObject({ data: { output: 'Hello, World!\n' } })
    expect(await execute('knowledge', 'run', 'both')).toMatchObject({ data: { output: 'the document' } })
  })

  test('where there is no tool of the name, a document is run as one', async () => {
    temp.write('knowledge/alone.md', 'the document')
    expect(await temp.run('alone')).toMatchObject({ data: { output: 'the document' } })
  })

  test('a category called like a type does not lead to another item', async () => {
    tool('project', 'knowledge/note', 'echo the tool')
    temp.write('knowledge/note.md', 'the document')
    expect(await execute('knowledge', 'run', 'note')).toMatchObject({ data: { output: 'the document' } })
    expect(await temp.run('knowledge/note')).toMatchObject({ data: { output: 'the tool\n' } })
  })

  test('a copy of the one leaves the other alone', async () => {
    const folder = tool('project', 'both', 'echo the tool')
    put(join(temp.folder, 'user/knowledge/both.md'), 'the document')
    const copy = { item_type: 'knowledge', source: 'user', destination: 'project', overwrite: true }
    expect((await temp.load('both', copy)).status).toBe('success')
    expect(existsSync(folder)).toBe(true)
    expect(existsSync(join(temp.project, '.ai/knowledge/both.md'))).toBe(true)
  })

  test('each can be made beside the other, but no second of its kind', async () => {
    await temp.create('both', BASH, { 'main.sh': 'true' })
    const document = { parameters: { description: 'd', content: 'text' } }
    expect((await execute('knowledge', 'create', 'both', document)).status).toBe('success')
    expect((await execute('knowledge', 'create', 'both', document)).error?.code).toBe('CONFLICT')
    const server = {
      tool_type: 'mcp_server',
      executor: 'subprocess',
      description: 'd',
      config: { command: 'x' },
    }
    expect((await temp.create('both', server)).error?.code).toBe('CONFLICT')
  })

  test('deleting takes what was named, wherever the other lies', async () => {
    const folder = tool('user', 'both', 'true')
    temp.write('knowledge/both.md', 'the document')
    const broken = temp.write('tools/broken.yaml', 'a: [')
    const parameters = { confirm: true }
    expect((await execute('knowledge', 'delete', 'broken', { parameters })).status).toBe('error')
    expect(existsSync(broken)).toBe(true)
    expect(await execute('tool', 'delete', 'both', { parameters })).toMatchObject({
      data: { source: 'user' },
    })
    expect(existsSync(folder)).toBe(false)
    expect((await execute('tool', 'delete', 'both', { parameters })).error?.code).toBe('INVALID_PARAMETERS')
    expect(existsSync(join(temp.project, '.ai/knowledge/both.md'))).toBe(true)
  })
})

describe('L1: files of one name and different types', () => {
  const DIRECTIVE = 'tool_type: directive\nversion: 1.0.0\ndescription: a directive\n'

  test('each is found as what it is', async () => {
    tool('project', 'one/x', 'echo the tool')
    temp.write('tools/two/x.yaml', DIRECTIVE)
    expect(await temp.run('x')).toMatchObject({ data: { output: 'the tool\n' } })
    expect((await temp.load('x', { item_type: 'directive' })).data).toMatchObject({ tool_type: 'directive' })
  })

  test('a file of the name does not hide one that declares it', async () => {
    temp.write('tools/y.yaml', DIRECTIVE)
    temp.write('tools/other/tool.yaml', `tool_id: y\n${SCRIPT}`)
    temp.write('tools/other/main.sh', 'echo the tool')
    expect(await temp.run('y')).toMatchObject({ data: { output: 'the tool\n' } })
  })

  test('what stands in the way is named as what it is', async () => {
    tool('project', 'taken', 'true')
    const { error } = await execute('directive', 'create', 'taken', { parameters: { description: 'd' } })
    expect(error).toMatchObject({ code: 'CONFLICT', fix: { arguments: { item_type: 'tool' } } })
    expect((await temp.call('load', error?.fix?.arguments)).status).toBe('success')
  })
})

describe('S5: copies', () => {
  test('the same copy made by several at once is one change and no conflict', async () => {
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => temp.load('hello_bash', { destination: 'project' })),
    )
    const changes = replies.map(({ data }) => field(data, 'destination', 'changed'))
    expect(changes.filter((isChanged) => isChanged === true)).toHaveLength(1)
    expect(changes.filter((isChanged) => isChanged === false)).toHaveLength(5)
  })

  test('a copy that leaves its executor behind says that it does not run', async () => {
    temp.write(
      'tools/mine.yaml',
      'tool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: x\nconfig: {command: sh}\n',
    )
    temp.write(
      'tools/on_mine/tool.yaml',
      'tool_type: script\nexecutor: mine\nversion: 1.0.0\ndescription: x\n',
    )
    temp.write('tools/on_mine/main.sh', 'true')
    const { metadata } = await temp.load('on_mine', { destination: 'user' })
    expect(metadata.warnings?.join()).toMatch(/does not run.*"mine"/)
  })
})

test('S8: a piece of knowledge that is called like the manifest of a skill goes alone', async () => {
  const paths = ['SKILL.md', 'api/SKILL.md', 'api/other.md'].map((name) =>
    temp.write(`knowledge/${name}`, '# K'),
  )
  const remove = (id: string): ReturnType<TempKiwi['call']> =>
    temp.call('execute', {
      item_type: 'knowledge',
      action: 'delete',
      item_id: id,
      parameters: { confirm: true },
    })
  expect(await remove('api/SKILL')).toMatchObject({ status: 'success' })
  expect(paths.map((path) => existsSync(path))).toEqual([true, false, true])
  expect(await remove('SKILL')).toMatchObject({ status: 'success' })
  expect(paths.map((path) => existsSync(path))).toEqual([false, false, true])
})
