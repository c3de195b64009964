import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const at = (path: string): string => join(temp.project, path)
const read = (path: string): string | null => (existsSync(at(path)) ? readFileSync(at(path), 'utf8') : null)
const shell = (command: string): Promise<Reply> => temp.run('shell.run', { command })
const undo = (id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'undo', item_id: id, ...more })
const warningsOf = ({ metadata }: Reply): string => (metadata.warnings ?? []).join('\n')
const named = ({ data }: Reply): readonly string[] => listField(data, 'not_covered').map(String)

/** The path of a name that is no text. */
const bytesAt = (path: string): Buffer =>
  Buffer.concat([Buffer.from(`${temp.project}/`), Buffer.from(path, 'latin1')])

function pipe(path: string): void {
  execFileSync('mkfifo', [at(path)])
}

/** A socket stays where it was made once its server is gone without closing it. */
function socket(path: string): void {
  const source = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', source, at(path)], { stdio: 'ignore' })
  expect(lstatSync(at(path)).isSocket()).toBe(true)
}

/** A script of the project that says nothing of what it changes. */
async function script(body: string): Promise<Reply> {
  const manifest = { ...BASH, mutates_state: true, config: { cwd: temp.project } }
  await temp.create('opaque', manifest, { 'main.sh': body })
  return temp.run('opaque')
}

describe('what a program takes away', () => {
  test('H4: pipes, sockets and names that are no text are named with their number; the rest comes back', async () => {
    mkdirSync(at('work/only'), { recursive: true })
    writeFileSync(at('work/a.txt'), 'kept')
    pipe('work/pipe')
    pipe('work/only/inner')
    socket('work/socket')
    writeFileSync(bytesAt('work/caf\xE9.txt'), 'latin')
    mkdirSync(bytesAt('work/d\xFF'))
    writeFileSync(bytesAt('work/d\xFF/in'), 'x')
    const gone = await shell('rm -r work')
    expect(warningsOf(gone)).toMatch(/undo does not cover work\/.*; .*; .* \(and 3 more\)$/)
    const id = textField(gone.data, 'undo_id')
    const lines = [
      'what .gitignore names',
      'work/pipe: gone, and it is a pipe',
      'work/socket: gone, and it is a socket',
      String.raw`work/caf\xe9.txt: gone, and its name is no text`,
      String.raw`work/d\xff: gone, and its name is no text`,
      String.raw`work/d\xff/in: gone, and its name is no text`,
      'work/only/inner: gone, and it is a pipe',
    ]
    const preview = await undo(id, { dry_run: true })
    expect(preview).toMatchObject({ status: 'dry_run', data: { not_covered_count: 6 } })
    expect([...named(preview)].toSorted()).toEqual(lines.toSorted())
    const done = await undo(id)
    expect(named(done)).toEqual(named(preview))
    expect(textField(done.data, 'output')).toBe('3 paths put back; undo does not cover 6')
    expect(read('work/a.txt')).toBe('kept')
    expect(lstatSync(at('work/only')).isDirectory()).toBe(true)
    // No folder under a name that is only like the one that was there.
    expect(existsSync(at('work/d\uFFFD'))).toBe(false)
    expect(existsSync(bytesAt('work/d\xFF'))).toBe(false)
  })

  test('H4: what was there before and stays is not spoken of', async () => {
    pipe('pipe')
    writeFileSync(bytesAt('caf\xE9.txt'), 'latin')
    writeFileSync(at('a.txt'), 'kept')
    const gone = await shell('rm a.txt')
    expect(warningsOf(gone)).toBe('')
    const done = await undo(textField(gone.data, 'undo_id'))
    expect(done).toMatchObject({ data: { output: '1 path put back', not_covered_count: 0 } })
    expect(read('a.txt')).toBe('kept')
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true)
  })

  test('H4: a change inside of a file whose name is no text is named', async () => {
    writeFileSync(bytesAt('caf\xE9.txt'), 'latin')
    writeFileSync(at('a.txt'), 'old')
    const reply = await script(String.raw`echo more >> $'caf\xe9.txt'; echo new > a.txt`)
    expect(warningsOf(reply)).toContain(
      String.raw`undo does not cover caf\xe9.txt: changed, and its name is no text`,
    )
    await undo(textField(reply.data, 'undo_id'))
    expect(read('a.txt')).toBe('old')
  })

  test('H4: of very many, some are named and all are counted', async () => {
    mkdirSync(at('many'))
    writeFileSync(at('many/a.txt'), 'kept')
    execFileSync(
      'mkfifo',
      Array.from({ length: 150 }, (_, n) => at(`many/p${n}`)),
    )
    const gone = await shell('rm -r many')
    const preview = await undo(textField(gone.data, 'undo_id'), { dry_run: true })
    expect(preview).toMatchObject({ data: { not_covered_count: 150 } })
    expect(named(preview)).toHaveLength(22)
    expect(named(preview).at(-1)).toBe('and 130 more')
  })

  test('H4: empty folders in empty folders come back with their modes, and those a call made go', async () => {
    mkdirSync(at('e/f/g'), { recursive: true })
    mkdirSync(at('e/h'), { mode: 0o700 })
    const gone = await shell('rm -r e && mkdir -p n/o/p')
    await undo(textField(gone.data, 'undo_id'))
    expect(existsSync(at('e/f/g'))).toBe(true)
    expect(lstatSync(at('e/h')).mode & 0o777).toBe(0o700)
    expect(existsSync(at('n'))).toBe(false)
  })

  test('H4: folders that .gitignore names are left alone inside of a bare one too', async () => {
    writeFileSync(at('.gitignore'), 'node_modules\n')
    mkdirSync(at('e/node_modules/x/y'), { recursive: true })
    mkdirSync(at('e/f'))
    const gone = await shell('rm -r e')
    await undo(textField(gone.data, 'undo_id'))
    expect([existsSync(at('e/f')), existsSync(at('e/node_modules'))]).toEqual([true, false])
  })
})

describe('what git does not look at', () => {
  test('H4: what a command names and git ignores is said to be gone, or changed; what is left alone is not', async () => {
    writeFileSync(at('.gitignore'), '.env\ncache\nleft\n')
    for (const name of ['.env', 'left', 'a.txt']) writeFileSync(at(name), name)
    mkdirSync(at('cache'))
    const gone = await shell('rm -r .env cache a.txt')
    expect(warningsOf(gone)).toContain(
      'undo does not cover .env: gone, and git ignores it; cache: gone, and git ignores it',
    )
    const undone = await undo(textField(gone.data, 'undo_id'))
    expect(named(undone)).toEqual([
      'what .gitignore names',
      '.env: gone, and git ignores it',
      'cache: gone, and git ignores it',
    ])
    expect([read('a.txt'), read('.env')]).toEqual(['a.txt', null])
    writeFileSync(at('.env'), 'A=1')
    const changed = await shell('truncate -s 0 .env')
    expect(warningsOf(changed)).toContain('undo does not cover .env: changed, and git ignores it')
    expect(changed.data).not.toHaveProperty('undo_id')
    expect(warningsOf(await shell('touch left2'))).not.toContain('left')
  })

  test('H4: so is what a command changes outside of the project', async () => {
    const outside = join(temp.folder, 'outside.txt')
    writeFileSync(outside, 'x')
    expect(warningsOf(await shell(`rm ${outside}`))).toContain(
      `undo does not cover ${outside}: gone, and it is outside of the project`,
    )
  })
})

describe('what a program leaves', () => {
  test('H4: what it made and undo cannot remove is named; its files go all the same', async () => {
    writeFileSync(at('b.txt'), 'kept')
    const made = await script(
      String.raw`rm b.txt; mkfifo p; mkdir nd; mkfifo nd/p; echo x > nd/file; echo x > $'nd/caf\xe9.txt'`,
    )
    const done = await undo(textField(made.data, 'undo_id'))
    expect([...named(done)].toSorted()).toEqual([
      String.raw`nd/caf\xe9.txt: new, and its name is no text`,
      'nd/p: new, and it is a pipe',
      'p: new, and it is a pipe',
      'what .gitignore names',
    ])
    expect([read('b.txt'), existsSync(at('nd/file'))]).toEqual(['kept', false])
    expect(listField(done.data, 'paths')).toContainEqual(
      expect.objectContaining({ action: 'leave', reason: expect.stringContaining('undo does not cover') }),
    )
  })

  test('H4: a file whose place a pipe took comes back once the pipe is gone', async () => {
    mkdirSync(at('d'))
    writeFileSync(at('d/in.txt'), 'inner')
    writeFileSync(at('a.txt'), 'kept')
    const reply = await script('rm -r a.txt d; mkfifo a.txt d')
    const id = textField(reply.data, 'undo_id')
    const first = await undo(id)
    expect(first).toMatchObject({ data: { totals: { conflict: 3 } } })
    expect(JSON.stringify(first.data)).toContain('it is a pipe')
    expect(lstatSync(at('a.txt')).isFIFO()).toBe(true)
    execFileSync('rm', [at('a.txt'), at('d')])
    expect(await undo(id)).toMatchObject({ data: { totals: { conflict: 0 } } })
    expect([read('a.txt'), read('d/in.txt')]).toEqual(['kept', 'inner'])
  })

  test('H4: a link to what is no text is named, and nothing is lost because of it', async () => {
    writeFileSync(at('a.txt'), 'kept')
    const reply = await script(String.raw`rm a.txt; ln -s $'caf\xe9' link; echo x > b.txt`)
    expect(warningsOf(reply)).toContain('undo does not cover link: what it links to is no text')
    await undo(textField(reply.data, 'undo_id'))
    expect([read('a.txt'), read('b.txt')]).toEqual(['kept', null])
  })
})

describe('what a call names itself', () => {
  test('H4: a folder with a pipe is deleted, and comes back but for that', async () => {
    mkdirSync(at('d'))
    writeFileSync(at('d/a.txt'), 'kept')
    pipe('d/p')
    const gone = await temp.run('filesystem.delete', { path: 'd', recursive: true })
    expect(warningsOf(gone)).toContain('d/p: gone, and it is a pipe')
    const done = await undo(textField(gone.data, 'undo_id'))
    expect(field(done.data, 'not_covered_count')).toBe(1)
    expect(read('d/a.txt')).toBe('kept')
  })

  test('H3: a folder with a name that is no text is not half deleted: it is refused, and the way to do it named', async () => {
    mkdirSync(at('d/inner'), { recursive: true })
    writeFileSync(at('d/a.txt'), 'kept')
    writeFileSync(bytesAt('d/inner/\xE9'), 'x')
    const reply = await temp.run('filesystem.delete', { path: 'd', recursive: true })
    expect(reply.error).toMatchObject({ code: 'TOOL_FAILED', hint: expect.stringContaining('shell.run') })
    expect(reply.error?.message).toContain('no text')
    expect(read('d/a.txt')).toBe('kept')
  })

  test('H4: an undo that meets a pipe can itself be undone', async () => {
    mkdirSync(at('d'), { mode: 0o755 })
    writeFileSync(at('d/a.txt'), 'old')
    pipe('d/p')
    const reply = await script('chmod 700 d; echo new > d/a.txt')
    const back = await undo(textField(reply.data, 'undo_id'))
    expect(read('d/a.txt')).toBe('old')
    await undo(textField(back.data, 'undo_id'))
    expect([read('d/a.txt'), (lstatSync(at('d')).mode & 0o777).toString(8)]).toEqual(['new\n', '700'])
    expect(lstatSync(at('d/p')).isFIFO()).toBe(true)
  })
})
