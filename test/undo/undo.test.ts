import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import { putFile } from '../fixtures/put-file.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const at = (path: string): string => join(temp.project, path)
const put = (path: string, text: string | Uint8Array, mode = 0o644): void => putFile(at(path), text, mode)

/** Everything below the project but what Kiwi saves of results. */
function state(): readonly string[] {
  return readdirSync(temp.project, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^\.(?:ai|git)(?:\/|$)/.test(name))
    .toSorted()
    .map((name) => {
      const stats = lstatSync(at(name))
      const content = stats.isSymbolicLink()
        ? readlinkSync(at(name))
        : stats.isFile()
          ? readFileSync(at(name), 'latin1')
          : ''
      return `${name} ${stats.mode.toString(8)} ${content}`
    })
}

const use = (tool: string, parameters: object): Promise<Reply> => temp.run(tool, parameters)
const undo = (id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'undo', item_id: id, ...more })
const undoId = ({ data, error }: Reply): string => {
  if (error !== null) throw new Error(error.message)
  return textField(data, 'undo_id')
}

describe('files', () => {
  test('H4 N13: a write is undone byte for byte, and the undo is undone too', async () => {
    put('a.txt', Uint8Array.from([0, 255, 10, 13]), 0o640)
    const before = state()
    const reply = await use('filesystem.write', { path: 'a.txt', content: 'new' })
    const after = state()
    const back = await undo(undoId(reply))
    expect(back).toMatchObject({
      status: 'success',
      data: { output: '1 path put back', totals: { restore: 1 }, undone: [undoId(reply)] },
    })
    expect(state()).toEqual(before)
    expect(await undo(undoId(back))).toMatchObject({ status: 'success' })
    expect(state()).toEqual(after)
    expect(await undo(undoId(reply))).toMatchObject({ status: 'success' })
    expect(state()).toEqual(before)
  })

  test('H4: a created file goes again, with the folders that were made for it', async () => {
    const before = state()
    const reply = await use('filesystem.create', { path: 'deep/er/a.txt', content: 'new' })
    expect(await undo(undoId(reply))).toMatchObject({ data: { totals: { remove: 3 } } })
    expect(state()).toEqual(before)
  })

  test('H4: a folder that was moved or deleted comes back as it was', async () => {
    put('src/a.txt', 'a', 0o600)
    put('src/in/b.sh', 'b', 0o755)
    symlinkSync('a.txt', at('src/link'))
    mkdirSync(at('src/bare'))
    const before = state()
    const moved = await use('filesystem.move', { path: 'src', to: 'other' })
    expect(state()).not.toEqual(before)
    const deleted = await use('filesystem.delete', { path: 'other', recursive: true })
    expect(await undo(undoId(deleted))).toMatchObject({
      status: 'success',
      data: { totals: { conflict: 0 } },
    })
    expect(await undo(undoId(moved))).toMatchObject({ status: 'success', data: { totals: { conflict: 0 } } })
    expect(state()).toEqual(before)
  })

  test('H4: what a person changed since is left and reported', async () => {
    put('a.txt', 'first')
    const reply = await use('filesystem.write', { path: 'a.txt', content: 'second' })
    put('a.txt', 'mine')
    const back = await undo(undoId(reply))
    expect(back).toMatchObject({
      status: 'success',
      data: {
        output: '0 paths put back, 1 left as they are',
        totals: { conflict: 1 },
        paths: [{ path: at('a.txt'), action: 'conflict', reason: 'it was changed since' }],
        undone: [],
      },
    })
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('mine')
    // As it was left again, it can be undone after all.
    put('a.txt', 'second')
    expect(await undo(undoId(reply))).toMatchObject({ data: { undone: [undoId(reply)] } })
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('first')
  })

  test('H4: a folder that others use by now stays', async () => {
    const reply = await use('filesystem.create', { path: 'made/a.txt', content: '' })
    put('made/mine.txt', 'mine')
    expect(await undo(undoId(reply))).toMatchObject({
      data: { totals: { remove: 1, conflict: 0 }, undone: [undoId(reply)] },
    })
    expect(readdirSync(at('made'))).toEqual(['mine.txt'])
  })

  test('H4: a link in place of a folder leads nowhere', async () => {
    put('dir/a.txt', 'first')
    const reply = await use('filesystem.write', { path: 'dir/a.txt', content: 'second' })
    mkdirSync(join(temp.folder, 'outside'))
    writeFileSync(join(temp.folder, 'outside/a.txt'), 'second')
    rmSync(at('dir'), { recursive: true })
    symlinkSync(join(temp.folder, 'outside'), at('dir'))
    expect(await undo(undoId(reply))).toMatchObject({ data: { totals: { conflict: 1 } } })
    expect(readFileSync(join(temp.folder, 'outside/a.txt'), 'utf8')).toBe('second')
  })

  test('H4: a call that changed nothing has nothing to undo', async () => {
    put('a.txt', 'same')
    const reply = await use('filesystem.write', { path: 'a.txt', content: 'same' })
    expect(reply.data).not.toHaveProperty('undo_id')
    expect(await undo(reply.metadata.call_id)).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  test('FS-12 N13: what was there is kept for its owner alone and told to nobody', async () => {
    const secret = 'canary-6f1d0b'
    put('secret.txt', secret)
    const write = await use('filesystem.write', { path: 'secret.txt', content: 'x' })
    const shown = [write, await undo(undoId(write), { dry_run: true })]
    writeFileSync(at('secret.txt'), 'changed since')
    shown.push(await undo(undoId(write), { dry_run: true }), await undo(undoId(write)))
    expect(JSON.stringify(shown)).not.toContain(secret)
    expect(JSON.stringify(await temp.kiwi.store.records({ limit: 100 }))).not.toContain(secret)
    for (const name of readdirSync(dirname(temp.config.store)).filter((each) => each.startsWith('kiwi.db')))
      expect(statSync(join(dirname(temp.config.store), name)).mode & 0o077).toBe(0)
  })
})

describe('programs', () => {
  test('H4: what a command line changed is undone byte for byte, in a repository whose git is not touched', async () => {
    put('a.txt', 'first')
    put('b.bin', Uint8Array.from([0, 1, 2, 255]), 0o755)
    put('keep/c.txt', 'c')
    execFileSync('git', ['init', '-q'], { cwd: temp.project })
    execFileSync('git', ['add', '-A'], { cwd: temp.project })
    const before = state()
    const reply = await use('shell.run', {
      command: 'cp a.txt copy.txt && rm b.bin && mv keep kept && cp copy.txt kept/c.txt && mkdir empty',
    })
    expect(state()).not.toEqual(before)
    const back = await undo(undoId(reply))
    expect(back).toMatchObject({
      status: 'success',
      data: { totals: { conflict: 0 }, undone: [undoId(reply)] },
    })
    expect(state()).toEqual(before)
    expect(listField(back.data, 'not_covered')).toContain('what .gitignore names')
  })

  test.each([
    'rm a.txt && mkdir a.txt && touch a.txt/x',
    'mv keep kept && ln -s kept keep',
    'mv keep kept && ln -s kept keep && chmod 700 kept kept/c.txt',
    'mv keep/deep moved && ln -s ../moved keep/deep',
    'rm link && cp -r keep link',
    'rm -r keep && cp a.txt keep',
    'rm link && mv keep link && ln -s link keep',
  ])('H4: what became something of another kind comes back, and that again: %s', async (command) => {
    for (const isRepository of [true, false]) {
      const project = isRepository ? 'in-git' : 'plain'
      putFile(at(`${project}/a.txt`), 'first')
      putFile(at(`${project}/keep/c.txt`), 'c')
      putFile(at(`${project}/keep/deep/d.txt`), 'd')
      symlinkSync('keep', at(`${project}/link`))
      if (isRepository)
        for (const args of [
          ['init', '-q'],
          ['add', '-A'],
        ])
          execFileSync('git', args, { cwd: at(project) })
      const call = (action: string, id: string, parameters?: object): Promise<Reply> =>
        temp.call('execute', {
          item_type: 'tool',
          action,
          item_id: id,
          ...(parameters === undefined ? {} : { parameters }),
          project_path: at(project),
        })
      const before = state()
      const first = undoId(await call('run', 'shell.run', { command }))
      const after = state()
      const other = await call('undo', undoId(await call('run', 'shell.run', { command: 'touch other' })))
      expect(other).toMatchObject({ data: { totals: { remove: 1, restore: 0, bring_back: 0, conflict: 0 } } })
      expect(state()).toEqual(after)
      const back = await call('undo', first)
      expect(back).toMatchObject({ error: null, data: { totals: { conflict: 0 } } })
      expect(state()).toEqual(before)
      expect(await call('undo', undoId(back))).toMatchObject({
        error: null,
        data: { totals: { conflict: 0 } },
      })
      expect(state()).toEqual(after)
    }
  })

  test('H4: a command that only reads is not covered, and costs nothing', async () => {
    execFileSync('git', ['init', '-q'], { cwd: temp.project })
    expect(await use('shell.run', { command: 'git status' })).toMatchObject({ status: 'success' })
    expect(existsSync(temp.config.trees)).toBe(false)
    await use('shell.run', { command: 'touch a.txt' })
    expect(existsSync(temp.config.trees)).toBe(true)
  })

  test('H4: a tool that says it changes things is covered; when it fails, the error has the undo id', async () => {
    put('a.txt', 'first')
    const before = state()
    const files = { 'main.sh': 'cd "$KIWI_PROJECT_PATH" 2>/dev/null; echo second > a.txt; exit 3' }
    await temp.create('breaks', { ...BASH, mutates_state: true, config: { cwd: temp.project } }, files)
    const reply = await use('breaks', {})
    expect(reply).toMatchObject({ error: { code: 'TOOL_FAILED' } })
    expect(state()).not.toEqual(before)
    await undo(textField(field(reply, 'error', 'details'), 'undo_id'))
    expect(state()).toEqual(before)
  })
})
