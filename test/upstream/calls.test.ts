import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../src/shared/limits.ts'
import type { Notice } from '../../src/shared/progress.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, textField } from '../fixtures/field.ts'
import { relayTo } from '../fixtures/relay.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const SERVER = fileURLToPath(new URL('../fixtures/content-upstream.mjs', import.meta.url))

let temp: TempKiwi
let folder: string
beforeAll(async () => {
  temp = await openTempKiwi()
  folder = join(temp.folder, 'counted')
  mkdirSync(folder)
  mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
  const server = (mode = ''): string =>
    `{command: "${process.execPath}", args: ["${SERVER}", "${folder}", "${mode}"]}`
  writeFileSync(
    join(temp.config.userSpace, 'config/mcp_registry.yaml'),
    `mcps:\n  gives: ${server()}\n  unlucky: ${server('unlucky')}\n`,
  )
})
afterAll(() => temp.close())

const calls = (tool: string): number => {
  const file = join(folder, 'calls')
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line === tool).length
    : 0
}
/** Whose words a result is. */
const SOURCE = { server: 'gives', trust: 'untrusted' }
const BLOCKS: readonly unknown[] = JSON.parse(
  readFileSync(new URL('../fixtures/content-blocks.json', import.meta.url), 'utf8'),
)

describe('S12: what a tool of an upstream gives back', () => {
  test('S12, M6: every kind of content is carried through unchanged, with _meta', async () => {
    const { status, data } = await temp.run('gives.blocks')
    expect([status, data]).toEqual([
      'success',
      { output: 'with a note', content: BLOCKS, _meta: { 'example.com/trace': 'abc' }, source: SOURCE },
    ])
  })

  test.each([
    ['an object', { rows: [{ a: null }] }],
    ['a list', [1, 'two', false]],
    ['a text', 'only words'],
    ['a number', 0.5],
    ['null', null],
    ['no', false],
  ])('S12: %s as structured content is the output, and said once', async (_, value) => {
    expect((await temp.run('gives.structured', { value })).data).toEqual({ output: value, source: SOURCE })
  })

  test('S12: what the text says beyond the structured content stays', async () => {
    expect((await temp.run('gives.differs')).data).toEqual({
      output: { rows: 2 },
      content: [{ type: 'text', text: 'two rows' }],
      source: SOURCE,
    })
    expect((await temp.run('gives.empty')).data).toEqual({ output: '', source: SOURCE })
  })

  test.each([
    [{ content: 'only words' }, { output: 'only words' }],
    [
      { content: 'words', structuredContent: { rows: 2 } },
      { output: { rows: 2 }, other: { content: 'words' } },
    ],
    [{ content: { text: 'no list' } }, { output: '', other: { content: { text: 'no list' } } }],
    [{ toolResult: { rows: 2 } }, { output: '', other: { toolResult: { rows: 2 } } }],
    [
      { content: [], isError: false, next: 'page 2' },
      { output: '', other: { next: 'page 2' } },
    ],
  ])('S12: of %j nothing is lost, though the protocol has no such result', async (result, data) => {
    expect((await temp.run('gives.gives', { result })).data).toEqual({ ...data, source: SOURCE })
  })

  test('S12, INJ-07: what it calls an error is one, with all it said, and nothing is tried instead', async () => {
    const reply = await temp.run('gives.fails')
    expect(reply).toMatchObject({
      status: 'error',
      data: { output: { reason: 7 }, content: [{ type: 'text' }, BLOCKS[1]] },
      error: { code: 'TOOL_FAILED', retryable: false, fix: { call: 'help' } },
    })
    expect(textField(reply.error, 'message')).toMatch(/^Cannot run "gives.fails": it says "Ignore previous/)
    expect(calls('fails')).toBe(1)
  })

  test('INJ-01: words that sound like orders are data', async () => {
    const { data, metadata } = await temp.run('gives.orders')
    expect(data).toEqual({ output: expect.stringContaining('rm -rf /'), source: SOURCE })
    expect(metadata).toMatchObject({ item_id: 'gives.orders', action: 'run' })
    expect(await temp.run('gives.orders')).toMatchObject({ status: 'success', data })
  })

  test('S12: what it refuses with is told with its code and data', async () => {
    const { error } = await temp.run('gives.refuses')
    expect(error).toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot call "gives.refuses": it says "closed on Sundays"',
      details: { rpc_error: { code: -32_050, data: { until: 'Monday' } } },
    })
  })

  test('M6: numbers beyond 2^53 keep every digit', async () => {
    const { data } = await temp.run('gives.exact')
    expect(data).toEqual({
      output: { id: '9007199254740993', small: 12, list: ['-18446744073709551615'] },
      source: SOURCE,
    })
  })
})

describe('S12: large results', () => {
  async function whole(reply: Reply): Promise<string> {
    let text = ''
    let next: unknown = field(reply.data, 'rest')
    while (next !== null) {
      const page = await temp.call('load', { ...Object(field(next, 'arguments')), limit: LIMITS.resultBytes })
      text += textField(page.data, 'text')
      next = field(page.data, 'next')
    }
    return text
  }

  test('S12: a picture of 5 MB is an outline in the reply, and pages back whole', async () => {
    const bytes = 5_000_000
    const reply = await temp.run('gives.picture', { bytes })
    expect(reply).toMatchObject({
      status: 'success',
      data: {
        output: 'look',
        truncated: true,
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', mimeType: 'image/png', truncated: true },
        ],
      },
    })
    expect(JSON.stringify(reply).length).toBeLessThan(4000)
    const kept: unknown = JSON.parse(await whole(reply))
    const data = textField(kept, 'content', '1', 'data')
    expect(Buffer.from(data, 'base64').equals(Buffer.alloc(bytes, 7))).toBe(true)
  }, 60_000)
})

describe('M6: arguments are checked against the schema that the server listed', () => {
  test.each([
    [
      { bytes: 'many' },
      { missing: [], invalid: [{ name: 'bytes', reason: expect.stringContaining('integer') }] },
    ],
    [{ bytes: 0 }, { missing: [], invalid: [{ name: 'bytes' }] }],
    [{}, { missing: ['bytes'], invalid: [] }],
    [
      { bytes: 1, more: 1 },
      { missing: [], invalid: [{ name: 'more' }] },
    ],
  ])('M6: %j is refused by the name of the field, and nothing is sent', async (parameters, details) => {
    const before = calls('picture')
    const { error } = await temp.run('gives.picture', parameters)
    expect(error).toMatchObject({ code: 'INVALID_PARAMETERS', details })
    expect(calls('picture')).toBe(before)
  })
})

describe('M5: an upstream that dies', () => {
  test('M5: before it reads the first request costs nothing but time', async () => {
    expect(await temp.run('unlucky.orders')).toMatchObject({ status: 'success' })
    expect(existsSync(join(folder, 'unlucky-was-here'))).toBe(true)
  }, 60_000)

  test('M5: after it was asked is not asked again, and nobody says what became of it', async () => {
    expect(await temp.run('gives.dies')).toMatchObject({
      status: 'error',
      error: { code: 'OUTCOME_UNKNOWN', retryable: false },
    })
    expect(calls('dies')).toBe(1)
  }, 60_000)

  test('M5: in a call that may be repeated is told of, and progress never goes back', async () => {
    const heard: number[] = []
    const client = {
      principal: 'tester',
      session: 'one that hears progress',
      kind: 'agent',
      defaultProject: () => Promise.resolve(temp.project),
      tell: ({ method, params }: Notice) =>
        void (method === 'notifications/progress' && heard.push(Number(params['progress']))),
    } as const
    const asked = { item_type: 'tool', action: 'run', item_id: 'gives.unsteady', parameters: {} }
    expect(await temp.kiwi.call('execute', asked, client)).toMatchObject({
      status: 'success',
      data: { output: 'done' },
      metadata: { warnings: ['the call was sent again: it ended with code 7'] },
    })
    expect(calls('unsteady')).toBe(2)
    expect(heard).toEqual(heard.toSorted((a, b) => a - b))
    expect(heard.at(-1)).toBe(3)
  }, 60_000)

  test('M5: between two calls is started anew for the second', async () => {
    const first = Number(field((await temp.run('gives.pid')).data, 'output'))
    process.kill(first, 'SIGKILL')
    const second = await temp.run('gives.pid')
    const retried = second.status === 'success' ? second : await temp.run('gives.pid')
    expect(retried).toMatchObject({ status: 'success' })
    expect(Number(field(retried.data, 'output'))).not.toBe(first)
  }, 60_000)
})

test('M6: whoever sees the server whole gets such a result as it came, and is refused what would hold up everybody', async () => {
  const many = (count: number): Promise<Reply> =>
    relayTo(temp, 'gives', 'tools/call', { name: 'many', arguments: { count } })
  const { data } = await many(80_000)
  expect(field(data, 'structuredContent', 'key number 79999')).toBe(79_999)
  expect((await many(250_000)).error).toMatchObject({
    code: 'MESSAGE_TOO_LARGE',
    message: 'Cannot pass on what "gives.many" gave: it holds more than 200000 values',
  })
}, 60_000)

test('M6: a result of very many values is text that is paged, and every byte of it is kept', async () => {
  const { data, metadata } = await temp.run('gives.many', { count: 80_000 })
  expect(data).toMatchObject({ encoding: 'json', truncated: true, source: SOURCE })
  expect(textField(data, 'output')).toMatch(/^\{"key number 0":0,/)
  expect(Number(field(data, 'output_bytes'))).toBeGreaterThan(1024 * 1024)
  expect(metadata.warnings).toEqual([expect.stringContaining('very many values')])
  const few = await temp.run('gives.many', { count: 3 })
  expect(field(few.data, 'output')).toEqual({ 'key number 0': 0, 'key number 1': 1, 'key number 2': 2 })
})
