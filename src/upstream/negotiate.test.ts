import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { TempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import type { Description } from './upstream.ts'

let temp: TempUpstreams
beforeEach(() => {
  temp = openTempUpstreams()
})
afterEach(() => temp.close())

const describeMode = (mode: string, prior?: Description): Promise<Description> =>
  temp.upstreams.describe(
    temp.upstream(mode, { ...(prior === undefined ? {} : { prior: async () => prior }), startupMs: 2000 }),
  )
const methods = (mode: string): Promise<unknown> => temp.told('methods', mode)
const legacy = (judgedAt: number): Description => ({
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: {},
  serverInfo: {},
  instructions: null,
  judgedAt,
})
const modern: Description = { ...legacy(0), era: 'modern', protocol: '2026-07-28' }
const DAY_MS = 24 * 60 * 60 * 1000

describe('M2: the era of an upstream', () => {
  test('M2: the newer one is found by one question, and needs no handshake', async () => {
    expect(await describeMode('modern')).toMatchObject({
      era: 'modern',
      protocol: '2026-07-28',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'modern' },
      instructions: 'I am modern',
    })
    expect(await methods('modern')).toEqual(['server/discover', 'subscriptions/listen', 'tools/call'])
    expect(temp.starts).toBe(1)
  })

  test('M2: the older one is found on the same program', async () => {
    const { judgedAt, ...description } = await describeMode('good')
    expect(description).toEqual({
      era: 'legacy',
      protocol: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'good', version: '1' },
      instructions: 'I am good',
    })
    expect(Math.abs(Date.now() - judgedAt)).toBeLessThan(60_000)
    expect(await methods('good')).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'tools/call',
    ])
    expect(temp.starts).toBe(1)
  })

  test.each(['2024-11-05', '2025-03-26', '2025-06-18'])(
    'M2: one that answers with %s is spoken to so',
    async (mode) => {
      expect(await describeMode(mode)).toMatchObject({ era: 'legacy', protocol: mode })
    },
  )

  test('one of a revision that nobody knows is refused, and said to be', async () => {
    await expect(describeMode('1999-01-01')).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot use "1999-01-01": it speaks the unknown revision "1999-01-01"',
      retryable: false,
    })
    expect(temp.starts).toBe(1)
  })

  test('one that dies of the question is started again the older way, and not asked again', async () => {
    expect(await describeMode('frail')).toMatchObject({ era: 'legacy' })
    expect(temp.starts).toBe(2)
    process.kill(await temp.pid('frail'), 'SIGKILL')
    await temp.pid('frail')
    expect(temp.starts).toBe(3)
  })

  test('one that never answers the question is opened the older way, on the same program', async () => {
    expect(await describeMode('mute')).toMatchObject({ era: 'legacy' })
    expect(temp.starts).toBe(1)
  })
})

describe('M4: what is known of the era', () => {
  test('M4: a modern one that is known is asked nothing', async () => {
    expect(await describeMode('modern', modern)).toBe(modern)
    expect(await methods('modern')).toEqual(['tools/call'])
  })

  test('M4: a legacy one that is known is opened at once, and keeps the day on which it was asked', async () => {
    const judgedAt = Date.now() - DAY_MS
    expect(await describeMode('good', legacy(judgedAt))).toMatchObject({
      serverInfo: { name: 'good' },
      judgedAt,
    })
    expect(await methods('good')).toEqual(['initialize', 'notifications/initialized', 'tools/call'])
  })

  test('M4: a legacy one is asked again after a week', async () => {
    const eightDays = legacy(Date.now() - 8 * DAY_MS)
    expect(await describeMode('modern', eightDays)).toMatchObject({ era: 'modern' })
  })

  test('a modern one that is none any more is found out by its first refusal, and called the older way', async () => {
    const asked = { method: 'prompts/list', params: {}, timeoutMs: 5000, isRepeatable: false }
    const downgraded = temp.upstream('good', { prior: async () => modern })
    await expect(temp.upstreams.request(downgraded, asked)).rejects.toMatchObject({ code: 'TOOL_FAILED' })
    expect(await temp.upstreams.describe(downgraded)).toMatchObject({ era: 'legacy' })
    expect(temp.starts).toBe(2)
  })
})

describe('S12: what goes along with a request', () => {
  const meta = async (mode: string, more: object, given: object = {}): Promise<unknown> => {
    const params = { name: 'given', arguments: {}, ...given }
    return field(await temp.call('given', {}, { mode, params, ...more }), 'structuredContent', '_meta')
  }
  const ask = async () => ({})

  test('a modern one hears each time who calls and what they can answer', async () => {
    const clientInfo = { name: 'kiwi-mcp', version: expect.any(String) }
    const base = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': clientInfo,
    }
    const capabilities = 'io.modelcontextprotocol/clientCapabilities'
    expect(await meta('modern', {})).toEqual({ ...base, [capabilities]: {} })
    expect(await meta('modern', { ask })).toEqual({
      ...base,
      [capabilities]: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    })
    expect(await meta('modern', { ask, capabilities: { elicitation: {} }, tell: () => {} })).toEqual({
      ...base,
      [capabilities]: { elicitation: {} },
      'io.modelcontextprotocol/logLevel': 'info',
    })
    expect(await meta('modern', {}, { _meta: { [capabilities]: { roots: {} }, own: 1 } })).toEqual({
      ...base,
      [capabilities]: { roots: {} },
      own: 1,
    })
  })

  test('a legacy one hears nothing of that, nor the token of somebody else', async () => {
    expect(await meta('good', { ask })).toBeUndefined()
    const foreign = { progressToken: 1, 'io.modelcontextprotocol/clientCapabilities': {}, own: 1 }
    expect(await meta('good', {}, { _meta: foreign })).toEqual({ own: 1 })
    expect(await meta('good', { progress: () => {} }, { _meta: foreign })).toEqual({
      own: 1,
      progressToken: expect.any(Number),
    })
  })
})
