import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/shared/clock.ts'
import { sha256 } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import type { NewCheckpoint } from '../../src/store/undo.ts'
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
const undo = (id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'undo', item_id: id, ...more })
const write = (path: string, content: string): Promise<Reply> =>
  temp.run('filesystem.write', { path, content })
const warningsOf = ({ metadata }: Reply): readonly string[] => metadata.warnings ?? []

const LOST: NewCheckpoint = {
  call_id: 'lost',
  run: null,
  session: 's',
  principal: 'tester',
  project: null,
  tool: 'filesystem.delete',
  tier: 'files',
  wall: Date.now(),
}

/** A script that changes things, in the project. */
const changing = (more: object = {}): object => ({
  ...BASH,
  mutates_state: true,
  ...more,
  config: { cwd: temp.project },
})

describe('a session', () => {
  test('H4: all calls of a session are undone, newest first, and that again', async () => {
    writeFileSync(at('a.txt'), 'first')
    await write('a.txt', 'second')
    await temp.run('shell.run', { command: 'cp a.txt b.txt && rm a.txt' })
    await temp.run('filesystem.move', { path: 'b.txt', to: 'c.txt' })
    const preview = await undo('session-1', { dry_run: true })
    expect(preview).toMatchObject({ status: 'dry_run', data: { totals: { conflict: 0 } } })
    expect(listField(preview.data, 'calls')).toHaveLength(3)
    expect([read('a.txt'), read('c.txt')]).toEqual([null, 'second'])
    const done = await undo('session-1')
    expect([read('a.txt'), read('b.txt'), read('c.txt')]).toEqual(['first', null, null])
    expect(listField(done.data, 'undone')).toHaveLength(3)
    await undo(textField(done.data, 'undo_id'))
    expect([read('a.txt'), read('b.txt'), read('c.txt')]).toEqual([null, null, 'second'])
    await undo('session-1')
    expect([read('a.txt'), read('b.txt'), read('c.txt')]).toEqual(['first', null, null])
  })

  test('H4: with a person in between, the rest is undone and their change is kept', async () => {
    writeFileSync(at('a.txt'), 'first')
    writeFileSync(at('b.txt'), 'first')
    await write('a.txt', 'second')
    await write('b.txt', 'second')
    writeFileSync(at('b.txt'), 'mine')
    const done = await undo('session-1')
    expect([read('a.txt'), read('b.txt')]).toEqual(['first', 'mine'])
    expect(warningsOf(done)).toContain('1 of the paths were changed since and are left as they are')
    expect(listField(done.data, 'undone')).toHaveLength(1)
  })

  test('H4: what was undone is said to be so, and by which call it can be had again', async () => {
    const reply = await write('a.txt', 'new')
    const done = await undo(textField(reply.data, 'undo_id'))
    expect(await undo(textField(reply.data, 'undo_id'))).toMatchObject({
      error: { code: 'CONFLICT', hint: expect.stringContaining(textField(done.data, 'undo_id')) },
    })
    expect(read('a.txt')).toBeNull()
  })

  test('H4: two runs in one project: only what is still as it was left goes back', async () => {
    const other = await openTempKiwi({ beside: temp })
    try {
      const first = await write('a.txt', 'of one')
      await other.run('filesystem.write', { path: 'a.txt', content: 'of another' })
      expect(await undo(textField(first.data, 'undo_id'))).toMatchObject({
        data: { totals: { conflict: 1 } },
      })
      expect(read('a.txt')).toBe('of another')
    } finally {
      await other.close()
    }
  })
})

describe('who', () => {
  test('H4: another principal is told that there is nothing; a person at the machine sees all, with what it was', async () => {
    writeFileSync(at('a.txt'), 'first\n')
    const id = textField((await write('a.txt', 'second\n')).data, 'undo_id')
    writeFileSync(at('a.txt'), 'mine\n')
    const as = (kind: 'agent' | 'person'): Promise<Reply> =>
      temp.kiwi.call(
        'execute',
        { item_type: 'tool', action: 'undo', item_id: id, dry_run: true },
        { principal: 'somebody', session: 's', kind, defaultProject: () => Promise.resolve(temp.project) },
      )
    expect(await as('agent')).toMatchObject({ error: { code: 'NOT_FOUND' } })
    expect(await as('person')).toMatchObject({
      data: { paths: [{ action: 'conflict', before: 'first\n', now: 'mine\n' }] },
    })
    expect(JSON.stringify(await undo(id, { dry_run: true }))).not.toContain('first')
  })

  test('H4: an undo is judged by every path it writes, and on record', async () => {
    writeFileSync(at('a.txt'), 'first')
    const id = textField((await write('a.txt', 'second')).data, 'undo_id')
    const done = await undo(id)
    const [decision] = await temp.kiwi.store.records({
      limit: 5,
      call_id: done.metadata.call_id,
      status: 'allow',
    })
    expect(decision).toMatchObject({
      operation: 'execute.undo',
      body: { demands: ['tool kiwi-mcp', `write ${at('a.txt')}`] },
    })
  })

  test('H4: what is kept cannot be turned against Kiwi: its own files are never written, by undo neither', async () => {
    const store = await openSqliteStore({ path: temp.config.store, clock: systemClock })
    const before = { kind: 'file', mode: 0o644, hash: sha256('{}') } as const
    const change = { path: temp.config.file, before, after: { kind: 'absent' } as const }
    await store.undo.open({ ...LOST, call_id: 'forged' }, [], [])
    await store.undo.close('forged', [change], { bytes: [{ hash: sha256('{}'), bytes: Buffer.from('{}') }] })
    await store.close()
    expect(await undo('forged')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { rule: 'machine/own-files' } },
    })
    expect(existsSync(temp.config.file)).toBe(false)
    const path = join(temp.config.trees, 'x')
    expect(await write(path, 'x')).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
  })

  test.each(['nothing', '../../etc/passwd', ''])('H4: %j is no call', async (id) => {
    expect((await undo(id)).error?.code).toMatch(/^(?:NOT_FOUND|INVALID_PARAMETERS)$/)
  })

  test('H4: undo takes no parameters', async () => {
    expect(await undo('x', { parameters: { force: true } })).toMatchObject({
      error: { code: 'INVALID_PARAMETERS', details: { invalid: [{ name: 'force' }] } },
    })
  })
})

describe('what cannot be looked at', () => {
  test('H4: a declared counter call takes another one back, with what that gave', async () => {
    const list = join(temp.folder, 'list')
    await temp.create(
      'thing_make',
      {
        ...changing(),
        parameters: [{ name: 'name', required: true }],
        rollback: { tool: 'thing_drop', parameters: { id: '{output.id}', note: 'was {name}' } },
      },
      { 'main.sh': `echo make >> ${list}; echo '{"id": 7}'` },
    )
    await temp.create(
      'thing_drop',
      { ...changing(), parameters: [{ name: 'id', type: 'integer' }, { name: 'note' }] },
      { 'main.sh': `cat >> ${list}` },
    )
    const made = await temp.run('thing_make', { name: 'Ada' })
    const id = textField(made.data, 'undo_id')
    expect(await undo(id, { dry_run: true })).toMatchObject({
      status: 'dry_run',
      data: { makes_calls: [{ for: id, tool: 'thing_drop' }] },
    })
    expect(readFileSync(list, 'utf8')).toBe('make\n')
    const done = await undo(id)
    expect(done).toMatchObject({ status: 'success', data: { undone: [id] } })
    expect(readFileSync(list, 'utf8')).toMatch(/^make\n.*"id": ?7.*was Ada/s)
    expect(warningsOf(done)).toContainEqual(expect.stringContaining('cannot be undone'))
    expect(await undo(id)).toMatchObject({ error: { code: 'CONFLICT' } })
  })

  test('H4: what changes something elsewhere and names no way back is said to be final', async () => {
    await temp.create('final', {
      tool_type: 'api',
      executor: 'http_client',
      description: 'changes something elsewhere',
      mutates_state: true,
      config: { url: 'http://127.0.0.1:9/', method: 'POST' },
    })
    const dry = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'final',
      dry_run: true,
    })
    expect(dry.status).toBe('dry_run')
    expect(warningsOf(dry)).toEqual([
      'this call cannot be undone: what it changes is elsewhere, and its manifest names no "rollback"',
    ])
  })

  test('H4: of a script that says so it is said to be final, whatever could be kept; git.push says so', async () => {
    const final = { ...BASH, mutates_state: true, rollback: 'none' }
    await temp.create('sends', final, { 'main.sh': 'touch "$KIWI_PROJECT_PATH/sent"\n' })
    const done = await temp.run('sends')
    expect(warningsOf(done)).toContain('this call cannot be undone: its manifest says "rollback: none"')
    expect(done.data).not.toHaveProperty('undo_id')
    expect(JSON.stringify((await temp.load('git.push')).data)).toContain('rollback: none')
  })

  test('H4: a script that declares nothing is covered only where the person wants all covered', async () => {
    const script = '#!/usr/bin/env bash\n# Writes\necho new > "$1"\n'
    const run = async (kiwi: TempKiwi): Promise<Reply> => {
      mkdirSync(join(kiwi.project, '.ai/tools'), { recursive: true })
      kiwi.write('tools/bare.sh', script.replace('$1', join(kiwi.project, 'a.txt')))
      return kiwi.run('bare')
    }
    expect((await run(temp)).data).not.toHaveProperty('undo_id')
    const all = await openTempKiwi({ settings: { undo: { cover: 'all' } } })
    try {
      const reply = await run(all)
      expect(reply.data).toHaveProperty('undo_id')
    } finally {
      await all.close()
    }
  })
})

describe('a call that was cut off', () => {
  test('H4: what it removed comes back once it is known to have ended', async () => {
    const store = await openSqliteStore({ path: temp.config.store, clock: systemClock })
    const before = { kind: 'file', mode: 0o644, hash: sha256('kept') } as const
    await store.undo.open(
      { ...LOST, project: temp.project },
      [{ path: at('a.txt'), before, after: null }],
      [{ hash: sha256('kept'), bytes: Buffer.from('kept') }],
    )
    expect(await undo('lost')).toMatchObject({ error: { code: 'CONFLICT', retryable: true } })
    const record = { call_id: 'lost', session: 's', principal: 'tester', operation: 'execute.run', tool: 'x' }
    await store.journal.append(
      [{ ...record, kind: 'outcome', status: 'unknown', parent_session: null, wall: 1, mono: 1, body: {} }],
      'normal',
    )
    await store.close()
    expect(await undo('lost')).toMatchObject({ data: { totals: { bring_back: 1 } } })
    expect(read('a.txt')).toBe('kept')
  })
})

describe('C11: a checkpoint is recommended', () => {
  const hints = async (kiwi: TempKiwi, id: string): Promise<unknown> =>
    field((await kiwi.run(id)).data, 'checkpoint_hint')

  test('C11: for a tool that changes things, in a git work tree, and only there', async () => {
    await temp.create('changes', changing(), { 'main.sh': 'true' })
    await temp.create('reads', { ...BASH, mutates_state: false }, { 'main.sh': 'true' })
    expect(await hints(temp, 'changes')).toBeUndefined()
    execFileSync('git', ['init', '-q'], { cwd: temp.project })
    const kept = await temp.run('git.checkpoint')
    expect(kept).toMatchObject({ status: 'success' })
    expect(kept.data).not.toHaveProperty('checkpoint_recommended')
    expect(await hints(temp, 'changes')).toMatch(/tool git\.checkpoint.*directive git_checkpoint/)
    const reading = await temp.run('shell.run', { command: 'git status && git diff' })
    expect(reading).toMatchObject({ status: 'success', data: { return_code: 0 } })
    expect(reading.data).not.toHaveProperty('checkpoint_hint')
    expect(
      field((await temp.run('shell.run', { command: 'touch new' })).data, 'checkpoint_hint'),
    ).toBeDefined()
    expect(await hints(temp, 'reads')).toBeUndefined()
    const dry = { item_type: 'tool', action: 'run', item_id: 'changes', dry_run: true }
    expect(await temp.call('execute', dry)).toMatchObject({ data: { checkpoint_recommended: true } })
    rmSync(at('.git'), { recursive: true })
    expect(await hints(temp, 'changes')).toBeUndefined()
  })
})
