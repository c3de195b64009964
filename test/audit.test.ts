import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const linesOf = (path: string): readonly Readonly<Record<string, unknown>>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('H7: the records of a project are mirrored in its .ai/logs', () => {
  /** Runs calls in a project of its own, and reads its mirror when all is closed. */
  async function mirrorOf(
    options: { settings?: Record<string, unknown>; hasSpace?: boolean },
    calls: (kiwi: TempKiwi) => Promise<unknown>,
  ): Promise<readonly Readonly<Record<string, unknown>>[] | null> {
    const own = await openTempKiwi(options.settings === undefined ? {} : { settings: options.settings })
    if (options.hasSpace !== false) mkdirSync(join(own.project, '.ai'))
    await calls(own)
    await own.kiwi.close()
    const file = join(own.project, '.ai/logs/tool.jsonl')
    const lines = existsSync(file) ? linesOf(file) : null
    rmSync(own.folder, { recursive: true })
    return lines
  }

  test('a call has its decision and its outcome there, refusals too', async () => {
    const lines = await mirrorOf({}, async (own) => {
      await own.run('hello_bash', { name: 'Ada' })
      await own.run('nobody')
    })
    expect(lines).toMatchObject([
      { seq: 1, tool: 'hello_bash', decision: 'allow', parameters: { name: 'Ada' }, version: '1.0.0' },
      { seq: 2, status: 'success', duration_ms: expect.any(Number), prev: lines?.[0]?.['hash'] },
      { seq: 3, tool: 'nobody', decision: 'deny', code: 'NOT_FOUND' },
      { seq: 4, status: 'error' },
    ])
  })

  test('a project without .ai gets no folder', async () => {
    expect(await mirrorOf({ hasSpace: false }, (own) => own.run('hello_bash'))).toBeNull()
  })

  test('it can be turned off', async () => {
    const settings = { audit: { mirror: false } }
    expect(await mirrorOf({ settings }, (own) => own.run('hello_bash'))).toBeNull()
  })

  test('what lies there is no item, and one that cannot be written costs no call', async () => {
    const lines = await mirrorOf({}, async (own) => {
      writeFileSync(join(own.project, '.ai/logs'), 'a file where the folder would be')
      expect((await own.run('hello_bash')).status).toBe('success')
    })
    expect(lines).toBeNull()
  })

  test('RED-01: a value under the name of a secret is not in it', async () => {
    const lines = await mirrorOf({}, (own) => own.run('hello_bash', { api_key: 'canary-0123456789' }))
    expect(JSON.stringify(lines)).not.toContain('canary')
  })
})

test('H11: the calls of a sub-session carry its parent, and are read with it', async () => {
  const client = { principal: 'tester', kind: 'agent', defaultProject: () => Promise.resolve(null) } as const
  const search = { query: 'hello' }
  await temp.kiwi.call('search', search, { ...client, session: 'parent' })
  await temp.kiwi.call('search', search, { ...client, session: 'child', parentSession: 'parent' })
  await temp.kiwi.call('search', search, { ...client, session: 'stranger' })
  const records = await temp.kiwi.store.records({ limit: 10, after: 0, session: 'parent' })
  expect(records.map(({ session, parent_session }) => [session, parent_session])).toEqual([
    ['parent', null],
    ['parent', null],
    ['child', 'parent'],
    ['child', 'parent'],
  ])
})

test('H11: a run is a session below the one that sends it, and a run it begins is below the run', async () => {
  const order = {
    kind: 'run',
    principal: 'tester',
    permissions: null,
    servers: [],
    projectPath: null,
    tools: null,
  } as const
  const { id: run } = await temp.kiwi.openRun({ ...order, parent: null, directive: 'deploy_feature' })
  const { id: inner } = await temp.kiwi.openRun({ ...order, parent: run, directive: 'write_tests' })
  const session = await openTempKiwi({ beside: temp })
  await session.run('hello_bash')
  for (const run_id of [run, inner])
    await session.call('execute', { item_type: 'tool', action: 'run', item_id: 'hello_bash', run_id })
  const records = await session.kiwi.store.records({ limit: 100, after: 0, session: run })
  expect(records.map((record) => [record.session, record.parent_session])).toEqual([
    [run, 'session-1'],
    [run, 'session-1'],
    [inner, run],
    [inner, run],
  ])
  expect(records[0]?.body).toMatchObject({ directive: 'deploy_feature' })
  const tree = await temp.kiwi.store.records({ limit: 100, session: 'session-1' })
  expect(new Set(tree.map((record) => record.session))).toEqual(new Set(['session-1', run, inner]))
  await session.close()
})

describe('AUD-11: erasing what a call was made with', () => {
  const client = { principal: 'tester', session: 's', defaultProject: () => Promise.resolve(null) } as const
  const erase = (callId: string, kind: 'agent' | 'person') =>
    temp.kiwi.act(
      {
        wish: () => ({ kind: 'erase', callId }),
        operation: 'audit.erase',
        subject: callId,
        projectPath: null,
      },
      { ...client, kind },
    )

  test('a person can; the chain is whole, and the erasure itself is on record', async () => {
    const { metadata } = await temp.run('hello_bash', { name: 'forget-me' })
    const reply = await erase(metadata.call_id, 'person')
    expect(reply).toMatchObject({ status: 'success', data: { erased: 2 } })
    const records = await temp.kiwi.store.records({ limit: 10, call_id: metadata.call_id })
    expect(records.map(({ body }) => body)).toEqual([{}, {}])
    expect(records).toMatchObject([{ tool: 'hello_bash' }, { tool: 'hello_bash' }])
    expect(await temp.kiwi.verifyJournal()).toMatchObject({ fault: null })
    expect(await temp.kiwi.store.records({ limit: 2, call_id: reply.metadata.call_id })).toMatchObject([
      { kind: 'outcome', status: 'success' },
      { kind: 'decision', operation: 'audit.erase', tool: metadata.call_id },
    ])
  })

  test('an agent cannot, and what is not there is said', async () => {
    const { metadata } = await temp.run('hello_bash', { name: 'keep-me' })
    expect((await erase(metadata.call_id, 'agent')).error?.code).toBe('PERMISSION_DENIED')
    expect(await temp.kiwi.store.records({ limit: 1, call_id: metadata.call_id })).toMatchObject([
      { body: { result_hash: expect.any(String) } },
    ])
    expect((await erase('nobody', 'person')).error?.code).toBe('NOT_FOUND')
  })
})

test('AUD-03: with full sync for all, calls are recorded as ever', async () => {
  const own = await openTempKiwi({ settings: { audit: { sync: 'full' } } })
  expect((await own.run('hello_bash')).status).toBe('success')
  expect(await own.kiwi.verifyJournal()).toMatchObject({ records: 2, fault: null })
  await own.close()
})
