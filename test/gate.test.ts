import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audit } from '../src/kernel/audit.ts'
import type { Call } from '../src/kernel/call.ts'
import type { Means } from '../src/kernel/means.ts'
import { newCall } from '../src/kernel/new-call.ts'
import { permission } from '../src/kernel/permission.ts'
import type { JournalRecord } from '../src/store/journal.ts'
import { textField } from './fixtures/field.ts'
import { systemClock } from '../src/shared/clock.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const recordsOf = (callId: string, of = temp): Promise<readonly JournalRecord[]> =>
  of.kiwi.store.records({ limit: 10, call_id: callId })

/** One decision and one outcome, whatever happened. */
async function twoRecords(callId: string): Promise<{ decision: JournalRecord; outcome: JournalRecord }> {
  const records = await recordsOf(callId)
  expect(records.map(({ kind }) => kind).toSorted()).toEqual(['decision', 'outcome'])
  const [outcome, decision] = records[0]?.kind === 'outcome' ? records : records.toReversed()
  if (decision === undefined || outcome === undefined) throw new Error('records are missing')
  return { decision, outcome }
}

const script = (lines: string, config: object = {}) =>
  [
    { tool_type: 'script', executor: 'bash_runtime', description: 'a test', config },
    { 'main.sh': lines },
  ] as const

describe('every call is on record', () => {
  test('AUD-03, H7: a call that succeeded has its decision and its outcome, with what ran and by whom', async () => {
    const { metadata } = await temp.run('hello_bash', { name: 'Ada' })
    const { decision, outcome } = await twoRecords(metadata.call_id)
    expect(decision).toMatchObject({
      status: 'allow',
      operation: 'execute.run',
      tool: 'hello_bash',
      principal: 'tester',
      session: 'session-1',
      body: {
        tool: 'hello_bash',
        version: '1.0.0',
        space: 'builtin',
        parameters: { name: 'Ada' },
        layer: 'machine',
      },
    })
    expect(outcome).toMatchObject({ status: 'success', seq: decision.seq + 1 })
  })

  test.each<[string, string, object]>([
    ['an item that is not there', 'NOT_FOUND', { item_type: 'tool', action: 'run', item_id: 'nobody' }],
    [
      'an unknown argument',
      'UNKNOWN_ARGUMENT',
      { item_type: 'tool', action: 'run', item_id: 'hello_bash', verbose: true },
    ],
    [
      'a wrong type',
      'INVALID_PARAMETERS',
      { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: { name: 7 } },
    ],
    ['a missing parameter', 'INVALID_PARAMETERS', { item_type: 'tool', action: 'run', item_id: 'http_test' }],
    ['an unknown action', 'UNKNOWN_ACTION', { item_type: 'tool', action: 'fly', item_id: 'hello_bash' }],
    [
      'an unknown item type',
      'UNKNOWN_ITEM_TYPE',
      { item_type: 'bird', action: 'run', item_id: 'hello_bash' },
    ],
  ])('AUD-03, N4: a refusal is recorded like any other call: %s', async (_, code, args) => {
    const { error, metadata } = await temp.call('execute', args)
    expect(error?.code).toBe(code)
    const { decision, outcome } = await twoRecords(metadata.call_id)
    expect(decision).toMatchObject({ status: 'deny', body: { code } })
    expect(outcome.body['code']).toBe(code)
  })

  test('a reading call that is refused is recorded too', async () => {
    const { metadata } = await temp.call('search', { qwery: 'x' })
    const { decision } = await twoRecords(metadata.call_id)
    expect(decision).toMatchObject({ operation: 'search', body: { code: 'UNKNOWN_ARGUMENT' } })
  })

  test('AUD-03: failed, timed-out and cancelled calls end as such', async () => {
    await temp.create('fails', ...script('exit 3'))
    await temp.create('hangs', ...script('sleep 60', { timeout: 0.2, kill_grace: 0.1 }))
    await temp.create('waits', ...script('sleep 60'))
    const failed = await temp.run('fails')
    expect(failed.error).toMatchObject({ code: 'TOOL_FAILED' })
    expect((await twoRecords(failed.metadata.call_id)).outcome.status).toBe('error')
    const hung = await temp.run('hangs')
    expect(hung.error).toMatchObject({ code: 'TIMEOUT', retryable: false })
    expect((await twoRecords(hung.metadata.call_id)).outcome.status).toBe('timeout')
    const cancel = new AbortController()
    setTimeout(() => cancel.abort(), 200)
    const cancelled = await temp.call(
      'execute',
      { item_type: 'tool', action: 'run', item_id: 'waits' },
      cancel.signal,
    )
    expect(cancelled.error?.code).toBe('CANCELLED')
    expect((await twoRecords(cancelled.metadata.call_id)).outcome.status).toBe('cancelled')
  })

  test('AUD-01: the records form a chain that verifies', async () => {
    await temp.run('hello_bash')
    const { records, brokenAt } = await temp.kiwi.store.verify()
    expect(records).toBeGreaterThan(1)
    expect(brokenAt).toBeNull()
  })

  test('a dry run leaves no record: it changes nothing at all', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'hello_bash',
      dry_run: true,
    })
    expect(reply.status).toBe('dry_run')
    expect(await recordsOf(reply.metadata.call_id)).toEqual([])
  })

  test('AUD-05: what came in cannot forge a line or hide in one', async () => {
    const { metadata } = await temp.run('hello_bash', { name: 'x\n{"forged":true}\u2028\u001b[2J|="' })
    const { decision } = await twoRecords(metadata.call_id)
    expect(decision.body['parameters']).toEqual({ name: 'x\n{"forged":true}\u2028\u001b[2J|="' })
    expect(JSON.stringify(decision).split('\n')).toHaveLength(1)
  })

  test('a parameter that is named like a secret is not written down', async () => {
    await temp.create(
      'takes_token',
      { ...script('')[0], parameters: [{ name: 'api_token', type: 'string' }] },
      { 'main.sh': 'true' },
    )
    const { metadata } = await temp.run('takes_token', { api_token: 'canary-0123456789' })
    const { decision } = await twoRecords(metadata.call_id)
    expect(JSON.stringify(decision)).not.toContain('canary')
  })

  test('of large parameters the record keeps the hash and the beginning', async () => {
    const { metadata } = await temp.run('hello_bash', { name: 'y'.repeat(100_000) })
    const { decision } = await twoRecords(metadata.call_id)
    expect(textField(decision.body, 'parameters').length).toBeLessThanOrEqual(8 * 1024)
    expect(decision.body['params_hash']).toMatch(/^[0-9a-f]{64}$/)
  })
})

test('H2, AUD-03: the decision is on record before the effect, and the outcome only after it', async () => {
  const go = join(temp.folder, 'go')
  await temp.create(
    'slow',
    ...script(
      `touch '${temp.folder}/started'\nfor i in $(seq 200); do [ -e '${go}' ] && exit 0; sleep 0.05; done; exit 1`,
    ),
  )
  const running = temp.run('slow')
  for (let tries = 0; tries < 100 && !existsSync(join(temp.folder, 'started')); tries++) await sleep(20)
  // Seen from elsewhere: what is only in the memory of this process is on no record.
  const other = await openSqliteStore({ path: temp.config.store, clock: systemClock })
  const during = await other.journal.read({ limit: 1 })
  await other.close()
  expect(during).toMatchObject([{ kind: 'decision', status: 'allow', tool: 'slow' }])
  writeFileSync(go, '')
  const reply = await running
  expect(reply.status).toBe('success')
  const { outcome } = await twoRecords(reply.metadata.call_id)
  expect(outcome.status).toBe('success')
})

describe('the permission stage', () => {
  test('a denied call never happens, is recorded, and says by which layer and rule and what can be done', async () => {
    await temp.create('kiwi_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'starts kiwi',
      config: { command: join(temp.folder, 'kiwi') },
    })
    const program = join(temp.folder, 'kiwi')
    writeFileSync(program, `#!/bin/sh\ntouch '${temp.folder}/approved'\n`, { mode: 0o755 })
    await temp.create(
      'sly',
      { tool_type: 'script', executor: 'kiwi_runtime', description: 'asks kiwi itself' },
      { 'main.sh': 'x' },
    )
    const { error, metadata } = await temp.run('sly')
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: {
        layer: 'machine',
        rule: 'machine/own-program',
        op: 'exec',
        resource: expect.stringContaining(program),
      },
    })
    expect(error?.hint).toBeTruthy()
    expect(existsSync(join(temp.folder, 'approved'))).toBe(false)
    const { decision, outcome } = await twoRecords(metadata.call_id)
    expect(decision).toMatchObject({ status: 'deny', body: { rule: 'machine/own-program' } })
    expect(outcome.status).toBe('denied')
  })

  test('S9: a dry run of a denied call says by whom it would be denied, and runs nothing', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'sly',
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: { would_ask: false, denied_by: { rule: 'machine/own-program' } },
    })
  })

  test('PRM-12: a fault in the judging itself is a refusal, and the call does not happen', async () => {
    const records: unknown[] = []
    let happened = 0
    const work: Call['work'] = {
      item: { id: 'x', version: null, space: null },
      action: 'run',
      chain: [],
      demands: [{ op: 'exec', program: '/bin/ls' }],
      isRepeatable: true,
      isReadOnly: false,
      parameters: {},
      redact: (value) => value,
      preview: () => ({}),
      warnings: [],
      perform: () => Promise.reject(new Error('not reached')),
    }
    const caller = { principal: 'p', session: 's', kind: 'agent' } as const
    const ticket = { callId: 'c', operation: 'execute.run', subject: 'x', parameters: {}, caller }
    const call: Call = { ...newCall(ticket, () => Promise.reject(new Error('not reached'))), work }
    const broken = {
      name: 'broken',
      isBase: true,
      get byOperation(): never {
        throw new Error('the rules cannot be read')
      },
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these two stages use, and no more
    const means = {
      policyOf: () => ({ layers: [broken], faults: [] }),
      store: {
        journal: { append: (given: readonly unknown[]) => Promise.resolve(void records.push(...given)) },
      },
      clock: { now: () => 0, monotonic: () => 0 },
    } as unknown as Means
    const next = (): Promise<never> => {
      happened += 1
      return Promise.reject(new Error('not reached'))
    }
    await expect(audit(call, () => permission(call, next, means), means)).rejects.toMatchObject({
      code: 'POLICY_ERROR',
    })
    expect(happened).toBe(0)
    expect(records).toMatchObject([
      { kind: 'decision', status: 'deny' },
      { kind: 'outcome', status: 'denied' },
    ])
  })
})

describe('AUD-04: when the journal cannot be written', () => {
  let blocked: TempKiwi
  beforeAll(async () => {
    const at = join(temp.folder, 'a-file')
    writeFileSync(at, '')
    blocked = await openTempKiwi({ environment: { KIWI_STORE: join(at, 'kiwi.db') } })
  })
  afterAll(() => blocked.close())

  /** Into the user space: no project is trusted where nothing can be kept. */
  const place = (id: string, manifest: string): void => {
    const folder = join(blocked.config.userSpace, 'tools', id)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'tool.yaml'), manifest)
    writeFileSync(join(folder, 'main.sh'), `touch '${blocked.folder}/mark'\n`)
  }

  test('a call that changes things is refused before it happens', async () => {
    place('marks', 'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: leaves a mark\n')
    const { error } = await blocked.run('marks')
    expect(error).toMatchObject({ code: 'AUDIT_UNAVAILABLE', retryable: true })
    expect(existsSync(join(blocked.folder, 'mark'))).toBe(false)
  })

  test('an item cannot talk its way out by calling itself read-only', async () => {
    place(
      'says_harmless',
      'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\nmutates_state: false\n',
    )
    expect((await blocked.run('says_harmless')).error?.code).toBe('AUDIT_UNAVAILABLE')
    expect(existsSync(join(blocked.folder, 'mark'))).toBe(false)
  })

  test('a text does not leave the machine unrecorded, not even through a shipped sample', async () => {
    const { error } = await blocked.run('http_test', { text: 'for your eyes only' })
    expect(error?.code).toBe('AUDIT_UNAVAILABLE')
  })

  test('creating is refused and nothing is written', async () => {
    expect((await blocked.create('new_one', ...script('true'))).error?.code).toBe('AUDIT_UNAVAILABLE')
    expect(existsSync(join(blocked.project, '.ai/tools/new_one'))).toBe(false)
  })

  test('R-05: searching, loading and shipped read-only tools still work, and say that they are not recorded', async () => {
    expect((await blocked.call('search', { query: 'hello' })).status).toBe('success')
    expect((await blocked.call('load', { item_type: 'tool', item_id: 'hello_bash' })).status).toBe('success')
    expect((await blocked.run('kiwi-overview')).status).toBe('success')
    const reply = await blocked.run('hello_bash')
    expect(reply).toMatchObject({ status: 'success', data: { output: 'Hello, World!\n' } })
    expect(reply.metadata.warnings?.join()).toContain('recorded')
  })
})
