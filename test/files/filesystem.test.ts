import { chmodSync, existsSync, lstatSync, readFileSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField } from '../fixtures/field.ts'
import { putFile } from '../fixtures/put-file.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const at = (...path: readonly string[]): string => join(temp.project, ...path)
const file = (path: string, content: string | Uint8Array): void => putFile(at(path), content)
const use = (tool: string, parameters: object): Promise<Reply> => temp.run(`filesystem.${tool}`, parameters)
const outputOf = ({ data }: Reply): unknown => field(data, 'output')
const refused = (code: string, message: string): object => ({ status: 'error', error: { code, message } })

describe('H3: read', () => {
  test('H3: by a path below the project; the answer says where it lies', async () => {
    file('src/a.txt', 'grüße\n')
    expect(await use('read', { path: 'src/a.txt' })).toMatchObject({
      status: 'success',
      data: { output: { path: at('src/a.txt'), content: 'grüße\n', size: 8, offset: 0, next_offset: null } },
      metadata: { executor_chain: ['filesystem.read', 'filesystem', 'subprocess'] },
    })
  })

  test('H3: bytes come back as they are, and text is never half a character', async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 13, 128])
    file('bytes', bytes)
    const read = await use('read', { path: 'bytes', encoding: 'base64' })
    expect(outputOf(read)).toMatchObject({ content: bytes.toString('base64'), size: 6 })
    expect(await use('read', { path: 'bytes' })).toMatchObject({
      error: { code: 'TOOL_FAILED', hint: 'Read it with encoding "base64"' },
    })
    file('long', '\uFEFFäöü€😀'.repeat(50))
    let text = ''
    for (let offset: unknown = 0; offset !== null;) {
      const part = outputOf(await use('read', { path: 'long', offset, limit: 37 }))
      text += String(field(part, 'content'))
      offset = field(part, 'next_offset')
    }
    expect(text).toBe('\uFEFFäöü€😀'.repeat(50))
  })

  test('H3: a large file comes in pages that fit into a reply', async () => {
    file('large.txt', 'line\n'.repeat(20_000))
    const first = outputOf(await use('read', { path: 'large.txt' }))
    expect(first).toMatchObject({ size: 100_000, next_offset: 24_576 })
  })

  test('H3: what is not there, a folder and a path without a project are told apart', async () => {
    expect(await use('read', { path: 'absent/x' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot read "absent/x": there is no such file or folder'),
    )
    expect(await use('read', { path: 'src' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot read "src": it is a folder'),
    )
    expect(await use('read', { path: 'src/a.txt/x' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot read "src/a.txt/x": a part of the path is no folder'),
    )
    expect(await use('delete', { path: 'src/a.txt/x' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot delete "src/a.txt/x": a part of the path is no folder'),
    )
    expect(await use('move', { path: 'src/a.txt/x', to: 'x' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot move "src/a.txt/x": a part of the path is no folder'),
    )
  })

  test('H3: a link inside of the project is followed', async () => {
    file('real.md', 'one')
    symlinkSync('real.md', at('link.md'))
    expect(outputOf(await use('read', { path: 'link.md' }))).toMatchObject({
      path: at('real.md'),
      content: 'one',
    })
    expect(await use('write', { path: 'link.md', content: 'two' })).toMatchObject({ status: 'success' })
    expect(lstatSync(at('link.md')).isSymbolicLink()).toBe(true)
    expect(readFileSync(at('real.md'), 'utf8')).toBe('two')
  })
})

describe('H3: write and create', () => {
  test('H3: folders appear, and the answer says what was done', async () => {
    expect(outputOf(await use('write', { path: 'deep/er/b.txt', content: 'grün' }))).toEqual({
      path: at('deep/er/b.txt'),
      bytes_written: 5,
      had_original: false,
    })
    expect(readFileSync(at('deep/er/b.txt'), 'utf8')).toBe('grün')
    expect(readdirSync(at('deep/er'))).toEqual(['b.txt'])
  })

  test('H3, N13, FS-12: what was there is replaced whole, keeps its mode, and is in no answer, record or output', async () => {
    file('run.sh', 'old-canary-4711')
    chmodSync(at('run.sh'), 0o750)
    const written = await use('write', { path: 'run.sh', content: 'new' })
    expect(outputOf(written)).toMatchObject({ bytes_written: 3, had_original: true })
    expect(field(written.data, 'undo_id')).toBe(written.metadata.call_id)
    expect(statSync(at('run.sh')).mode & 0o777).toBe(0o750)
    expect(JSON.stringify(written)).not.toContain('canary')
    const records = await temp.kiwi.store.records({ limit: 1000 })
    expect(JSON.stringify(records)).not.toContain('canary')
    expect(existsSync(at('.ai/outputs/tools/filesystem.write'))).toBe(false)
  })

  test('H3: bytes and a mode can be given', async () => {
    const content = Buffer.from([0, 1, 2, 255]).toString('base64')
    await use('write', { path: 'tool', content, encoding: 'base64', mode: '0755' })
    expect([...readFileSync(at('tool'))]).toEqual([0, 1, 2, 255])
    expect(statSync(at('tool')).mode & 0o777).toBe(0o755)
    expect(await use('write', { path: 'tool', content: 'no base64!', encoding: 'base64' })).toMatchObject({
      error: { code: 'INVALID_PARAMETERS' },
    })
  })

  test('H3: create fails if something is there', async () => {
    expect(await use('create', { path: 'fresh', content: 'a' })).toMatchObject({ status: 'success' })
    expect(await use('create', { path: 'fresh', content: 'b' })).toMatchObject(
      refused('CONFLICT', 'Cannot create "fresh": something is there already'),
    )
    expect(readFileSync(at('fresh'), 'utf8')).toBe('a')
    symlinkSync('nowhere', at('dangling'))
    expect(await use('create', { path: 'dangling' })).toMatchObject({ error: { code: 'CONFLICT' } })
    expect(await use('write', { path: 'dangling', content: '' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot write "dangling": it is a link, and where it leads was not judged'),
    )
  })

  test('H3: many at once each do their own', async () => {
    const numbers = Array.from({ length: 40 }, (_, number) => number)
    await Promise.all(numbers.map((number) => use('write', { path: `many/${number}`, content: `${number}` })))
    expect(numbers.map((number) => readFileSync(at(`many/${number}`), 'utf8'))).toEqual(numbers.map(String))
  })

  test('H3: a dry run shows what would be written, and writes nothing', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'filesystem.write',
      parameters: { path: 'not/yet', content: 'grün' },
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: {
        would_call: { server: 'filesystem', tool: 'write' },
        would_write: [{ path: at('not/yet'), bytes: 5 }],
      },
    })
    expect(existsSync(at('not'))).toBe(false)
  })
})

describe('H3: delete and move', () => {
  test('H3: files, links and empty folders go; a full folder only with all that is in it', async () => {
    file('gone/a/b', '')
    symlinkSync('/etc', at('gone/a/etc'))
    expect(await use('delete', { path: 'gone' })).toMatchObject({
      error: { code: 'TOOL_FAILED', hint: 'Pass recursive: true to delete what is in it too' },
    })
    expect(outputOf(await use('delete', { path: 'gone', recursive: true }))).toEqual({
      path: at('gone'),
      deleted: 4,
    })
    expect(existsSync(at('gone'))).toBe(false)
    expect(existsSync('/etc/passwd')).toBe(true)
    file('kept', 'kept')
    symlinkSync('kept', at('pointer'))
    expect(await use('delete', { path: 'pointer' })).toMatchObject({ status: 'success' })
    expect(readFileSync(at('kept'), 'utf8')).toBe('kept')
    expect(await use('delete', { path: 'pointer' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot delete "pointer": there is no such file or folder'),
    )
  })

  test('H3: a move makes folders, and replaces nothing unless it is told to', async () => {
    file('one', '1')
    file('two', '2')
    expect(outputOf(await use('move', { path: 'one', to: 'new/place/one' }))).toMatchObject({
      to: at('new/place/one'),
      had_original: false,
    })
    expect(existsSync(at('one'))).toBe(false)
    expect(await use('move', { path: 'new/place/one', to: 'two' })).toMatchObject({
      error: { code: 'CONFLICT', hint: 'Pass overwrite: true to replace it' },
    })
    await use('move', { path: 'new/place/one', to: 'two', overwrite: true })
    expect(readFileSync(at('two'), 'utf8')).toBe('1')
    expect(await use('move', { path: 'new', to: 'moved' })).toMatchObject({ status: 'success' })
    expect(existsSync(at('moved/place'))).toBe(true)
    expect(await use('move', { path: 'moved', to: 'moved/place/x' })).toMatchObject(
      refused('TOOL_FAILED', 'Cannot move "moved": a folder cannot be moved into itself'),
    )
  })
})

describe('H3: list, stat and search', () => {
  test('H3: a folder is listed by name, as deep as asked, and no link is followed', async () => {
    file('tree/b/c/d', 'four')
    file('tree/a', '')
    symlinkSync('/', at('tree/root'))
    expect(outputOf(await use('list', { path: 'tree' }))).toEqual({
      path: at('tree'),
      entries: [
        { path: 'a', type: 'file', size: 0 },
        { path: 'b', type: 'folder' },
        { path: 'root', type: 'link' },
      ],
      truncated: false,
    })
    const deep = outputOf(await use('list', { path: 'tree', depth: 9 }))
    expect(listField(deep, 'entries').map((entry) => field(entry, 'path'))).toEqual([
      'a',
      'b',
      'b/c',
      'b/c/d',
      'root',
    ])
    expect(outputOf(await use('list', { path: 'tree', limit: 1 }))).toMatchObject({
      entries: [{ path: 'a' }],
      truncated: true,
    })
  })

  test('H3: stat says what is there, or that nothing is', async () => {
    file('stat/file', 'four')
    expect(outputOf(await use('stat', { path: 'stat/file' }))).toMatchObject({
      exists: true,
      type: 'file',
      size: 4,
      modified_at: expect.stringMatching(/Z$/),
    })
    expect(outputOf(await use('stat', { path: 'stat' }))).toMatchObject({ type: 'folder' })
    expect(outputOf(await use('stat', { path: '/' }))).toMatchObject({ type: 'folder' })
    expect(outputOf(await use('stat', { path: 'stat/none' }))).toEqual({
      path: at('stat/none'),
      exists: false,
    })
    expect(outputOf(await use('stat', { path: 'no/ne' }))).toMatchObject({ exists: false })
  })

  test('H3: a text is found by line, in the files a glob fits, and not in what nobody means', async () => {
    file('find/a.ts', 'zero\nTodo: one\r\ntodo two\n')
    file('find/deep/b.ts', 'TODO three')
    file('find/c.md', 'todo four')
    file('find/bin', Buffer.from('todo\0'))
    file('find/.git/x', 'todo')
    file('find/node_modules/x/y.ts', 'todo')
    const matches = async (more: object): Promise<readonly string[]> =>
      listField(outputOf(await use('search', { path: 'find', pattern: 'todo', ...more })), 'matches').map(
        (match) =>
          `${String(field(match, 'path'))}:${String(field(match, 'line'))}:${String(field(match, 'text'))}`,
      )
    expect(await matches({})).toEqual(['a.ts:3:todo two', 'c.md:1:todo four'])
    expect(await matches({ ignore_case: true, glob: '*.ts' })).toEqual([
      'a.ts:2:Todo: one',
      'a.ts:3:todo two',
      'deep/b.ts:1:TODO three',
    ])
    expect(await matches({ ignore_case: true, glob: 'deep/**' })).toEqual(['deep/b.ts:1:TODO three'])
    expect(await matches({ glob: '**/*.md' })).toEqual(['c.md:1:todo four'])
    expect(await matches({ path: 'find/c.md' })).toEqual(['c.md:1:todo four'])
    expect(outputOf(await use('search', { path: 'find', pattern: 'todo', limit: 1 }))).toMatchObject({
      truncated: true,
    })
  })
})

describe('R56: what other servers call the tools', () => {
  test.each([
    ['read_file', 'read'],
    ['list_directory', 'list'],
    ['get_file_info', 'stat'],
  ])('R56: filesystem.%s is filesystem.%s, and is recorded as that', async (alias, name) => {
    file('aliased/x', '')
    const reply = await use(alias, { path: name === 'read' ? 'aliased/x' : 'aliased' })
    expect(reply).toMatchObject({
      status: 'success',
      metadata: { executor_chain: [`filesystem.${name}`, 'filesystem', 'subprocess'] },
    })
  })

  test('R56: any other name is not there', async () => {
    expect(await use('format_disk', {})).toMatchObject({ error: { code: 'NOT_FOUND' } })
    expect(await temp.run('nowhere.read_file', {})).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  test('R56: the tools are found by search, ready to call', async () => {
    const found = resultsOf(await temp.search('read file'))
    expect(found.find(({ id }) => id === 'filesystem.read')?.call).toMatchObject({
      action: 'run',
      item_id: 'filesystem.read',
      parameters: { path: '<path>' },
    })
  })
})
