import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OWN_PROCESS, tagText } from '../../src/shared/own-process.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import type { JournalRecord } from '../../src/store/journal.ts'
import type { Store } from '../../src/store/store.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const recordsOf = ({ metadata }: Reply): Promise<readonly JournalRecord[]> =>
  temp.kiwi.store.records({ limit: 10, after: 0, call_id: metadata.call_id })

describe('H7: every call has one decision and one outcome', () => {
  test.each([
    ['search', { query: 'say hello' }],
    ['load', { item_type: 'tool', item_id: 'hello_bash' }],
    ['help', { topic: 'tools' }],
  ])('%s', async (tool, args) => {
    const reply = await temp.call(tool, args)
    expect(reply.status).toBe('success')
    expect(await recordsOf(reply)).toMatchObject([
      {
        kind: 'decision',
        status: 'allow',
        operation: tool,
        body: { parameters: args, demands: ['tool kiwi-mcp'] },
      },
      { kind: 'outcome', status: 'success', operation: tool },
    ])
  })

  test('a question that finds nothing', async () => {
    expect(await recordsOf(await temp.load('nobody'))).toMatchObject([
      { kind: 'decision', status: 'allow' },
      { kind: 'outcome', status: 'error', body: { code: 'NOT_FOUND' } },
    ])
  })

  test('a copy', async () => {
    const reply = await temp.load('hello_node', { destination: 'project' })
    expect(await recordsOf(reply)).toMatchObject([
      { kind: 'decision', operation: 'load.copy' },
      { kind: 'outcome', status: 'success' },
    ])
  })

  test('a copy that also asks for a page is refused before anything is written', async () => {
    const reply = await temp.load('hello_world', { destination: 'project', path: 'nope' })
    expect(reply.error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { invalid: [{ name: 'path' }] },
    })
    expect(await recordsOf(reply)).toMatchObject([{ status: 'deny' }, { kind: 'outcome' }])
    expect(existsSync(join(temp.project, '.ai/tools/hello_world'))).toBe(false)
  })

  test('PAR-02: parameters deeper than any stack', async () => {
    let name: unknown = 'x'
    for (let level = 0; level < 50_000; level++) name = [name]
    const reply = await temp.run('hello_bash', { name })
    expect(reply.error?.code).toBe('TOO_DEEP')
    expect(await recordsOf(reply)).toMatchObject([{ status: 'deny' }, { body: { code: 'TOO_DEEP' } }])
  })
})

test('RED-01: a granted value in an address is judged, and recorded and shown without it', async () => {
  const manifest = {
    tool_type: 'api',
    description: 'calls the tenant',
    secrets: ['TENANT'],
    config: { url: 'http://${TENANT}:1/', timeout: 1 },
  }
  await temp.create('tenant', manifest)
  const { data } = await temp.load('tenant')
  const granted = await openTempKiwi({
    beside: temp,
    settings: { grants: [{ tool: 'tenant', hash: textField(data, 'grant_hash'), names: ['TENANT'] }] },
    environment: { TENANT: '10.20.30.40' },
  })
  try {
    const reply = await granted.run('tenant')
    expect(reply.error?.code).toBe('EGRESS_DENIED')
    expect(JSON.stringify([reply, await recordsOf(reply)])).not.toContain('10.20.30.40')
    expect(await recordsOf(reply)).toMatchObject([
      { body: { demands: ['tool tenant', 'net [REDACTED:TENANT]:1'] } },
      { kind: 'outcome' },
    ])
  } finally {
    await granted.close()
  }
})

describe('N16: a call that was cut off with its process', () => {
  let store: Store
  beforeAll(async () => {
    store = await openSqliteStore({ path: temp.config.store, clock: systemClock })
  })
  afterAll(() => store.close())
  const decision = (call_id: string, process: string, wall = Date.now()) =>
    store.journal.append(
      [
        {
          kind: 'decision',
          call_id,
          session: 's',
          parent_session: null,
          principal: 'p',
          operation: 'execute.run',
          tool: 'x',
          status: 'allow',
          wall,
          mono: 0,
          body: { process },
        },
      ],
      'normal',
    )
  const outcomesOf = async (call_id: string): Promise<readonly JournalRecord[]> =>
    (await temp.kiwi.store.records({ limit: 10, call_id })).filter(({ kind }) => kind === 'outcome')

  test('ends as unknown at the next start, once; one that may be under way does not', async () => {
    const elsewhere = tagText({ ...OWN_PROCESS, namespace: 'pid:[1]' })
    await decision('lost', tagText({ ...OWN_PROCESS, pid: 99_999_999 }))
    await decision('same-pid-of-a-life-before', tagText({ ...OWN_PROCESS, start: '1' }))
    await decision('before-the-last-start', tagText({ ...OWN_PROCESS, boot: 'x' }))
    await decision('in-a-container-long-ago', elsewhere, Date.now() - 25 * 60 * 60 * 1000)
    await decision('under-way', tagText(OWN_PROCESS))
    await decision('in-a-container', elsewhere)
    const [one, two] = await Promise.all([openTempKiwi({ beside: temp }), openTempKiwi({ beside: temp })])
    await Promise.all([one.close(), two.close()])
    const unknown = [{ status: 'unknown', body: { code: 'OUTCOME_UNKNOWN' } }]
    for (const call of [
      'lost',
      'same-pid-of-a-life-before',
      'before-the-last-start',
      'in-a-container-long-ago',
    ])
      expect(await outcomesOf(call)).toMatchObject(unknown)
    expect(await outcomesOf('under-way')).toEqual([])
    expect(await outcomesOf('in-a-container')).toEqual([])
  })
})

describe('L8: no reply grows with what a tool says', () => {
  const small = (reply: Reply): void =>
    expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThan(48 * 1024)

  test.each([
    [
      'a failing tool that floods its output',
      'head -c 5000000 /dev/zero | tr "\\\\0" x; exit 3',
      'TOOL_FAILED',
    ],
    [
      'a tool that floods its errors',
      'head -c 5000000 /dev/zero | tr "\\\\0" x >&2; echo end >&2',
      undefined,
    ],
    ['a number after 5 MB of blanks', 'head -c 5000000 /dev/zero | tr "\\\\0" " "; echo 1', undefined],
  ])('%s', async (title, script, code) => {
    const id = title.replaceAll(/\W/g, '_')
    await temp.create(id, BASH, { 'main.sh': script })
    const reply = await temp.run(id)
    expect(reply.error?.code).toBe(code)
    small(reply)
    if (title.includes('failing')) {
      expect(reply.data).toMatchObject({ truncated: true, output_bytes: 5_000_000, rest: { call: 'load' } })
    }
    if (title.includes('errors')) expect(textField(reply.data, 'stderr')).toMatch(/left out[^]*end\n$/)
  })

  test('a long document is paged', async () => {
    temp.write('knowledge/long-note.md', `---\nid: long-note\n---\n${'ü'.repeat(60_000)}`)
    const reply = await temp.load('long-note', { item_type: 'knowledge' })
    expect(reply.error).toBeNull()
    small(reply)
    expect(reply.metadata.warnings?.join()).toContain('path, offset and limit')
    const page = await temp.load('long-note', { item_type: 'knowledge', path: 'content.md', limit: 5 })
    expect(page.data).toMatchObject({ text: 'üü', next_offset: 4 })
  })

  test.each([
    ['an argument', { item_type: 'tool', action: 'run', item_id: 'hello_bash', ['k'.repeat(1_000_000)]: 1 }],
    [
      'a parameter',
      { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: { ['k'.repeat(1_000_000)]: 1 } },
    ],
    [
      'an id',
      {
        item_type: 'tool',
        action: 'create',
        parameters: { manifest: { ...BASH, tool_id: 'i'.repeat(1_000_000) } },
      },
    ],
    [
      'a thousand faults',
      {
        item_type: 'tool',
        action: 'run',
        item_id: 'hello_bash',
        parameters: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 1])),
      },
    ],
  ])('%s of any length is refused in few words, and recorded in few', async (_, args) => {
    const reply = await temp.call('execute', args)
    expect(reply.status).toBe('error')
    small(reply)
    expect(JSON.stringify(await recordsOf(reply)).length).toBeLessThan(32 * 1024)
  })

  test('an item of any size is shown in part, and can be read whole', async () => {
    const parameters = Array.from({ length: 250 }, (_, at) => ({
      name: `p${at}`,
      description: 'd'.repeat(900),
    }))
    temp.write(
      'tools/vast.yaml',
      JSON.stringify({
        tool_type: 'api',
        version: '1.0.0',
        description: 'vast',
        config: { url: 'https://x.invalid/' },
        parameters,
      }),
    )
    for (const reply of [await temp.load('vast'), await temp.call('help', { item_id: 'vast' })]) {
      expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThan(140 * 1024)
      expect(reply.error).toBeNull()
      expect(reply.data).toMatchObject({ truncated: true, rest: { call: 'load' } })
      const page = await temp.call('load', field(reply.data, 'rest', 'arguments'))
      expect(textField(page.data, 'text')).toMatch(/^\{/)
    }
    small(await temp.search('vast'))
  })

  test('a manifest with thousands of unknown keys, or one of any length', async () => {
    const keys = Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`k${at}`, 1]))
    await temp.create('many_keys', { ...BASH, ...keys }, { 'main.sh': 'true' })
    const reply = await temp.run('many_keys')
    expect(reply.status).toBe('success')
    small(reply)
    small(await temp.create('long_key', { ...BASH, ['k'.repeat(200_000)]: 1 }, { 'main.sh': 'true' }))
  })

  test('a description of any length is shown in part, a page never', async () => {
    await temp.create('wordy', { ...BASH, description: 'd'.repeat(180_000) }, { 'main.sh': 'true' })
    const shown = await temp.load('wordy')
    expect(textField(shown.data, 'description').length).toBeGreaterThan(1000)
    expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThan(140 * 1024)
    await temp.create('control', BASH, { 'main.sh': "head -c 100000 /dev/zero | tr '\\0' '\\001'" })
    const { data } = await temp.run('control')
    const first = await temp.call('load', { ...Object(field(data, 'rest', 'arguments')), limit: 32_768 })
    expect(textField(first.data, 'text')).toBe('\u0001'.repeat(32_768))
    expect(first.data).toMatchObject({ next: { arguments: { offset: 32_768, limit: 32_768 } } })
  })

  test('a parameter with a huge default', async () => {
    const parameters = [{ name: 'text', type: 'string', default: 'x'.repeat(100_000) }]
    await temp.create('huge_default', { ...BASH, description: 'gigantic', parameters }, { 'main.sh': 'true' })
    small(await temp.search('gigantic'))
  })
})
