import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import { childEnvironment, readEnvironment } from '../config/environment.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import { systemClock } from '../shared/clock.ts'
import type { JsonObject } from '../shared/json.ts'
import { openStdioWire } from './stdio-wire.ts'
import type { Upstream, UpstreamRequest } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'
import { openUpstreams } from './upstreams.ts'

const SERVER = fileURLToPath(new URL('../../test/fixtures/upstream.mjs', import.meta.url))

let subprocess: Subprocess
let upstreams: Upstreams
let starts = 0
beforeEach(() => {
  subprocess = openSubprocess({ clock: systemClock })
  upstreams = openUpstreams()
  starts = 0
})
afterEach(async () => {
  await upstreams.close()
  await subprocess.close()
})

const upstream = (mode = 'good', more: Partial<Upstream> = {}): Upstream => ({
  id: mode,
  key: mode,
  startupMs: 5000,
  keepAliveMs: 60_000,
  open: () => {
    starts += 1
    const env = childEnvironment(readEnvironment())
    return openStdioWire(mode, subprocess, { command: process.execPath, args: [SERVER, mode], env, cwd: '/' })
  },
  ...more,
})
const call = (
  name: string,
  args: JsonObject = {},
  more: Partial<UpstreamRequest> & { mode?: string } = {},
): Promise<JsonObject> => {
  const { mode, ...request } = more
  const params = { name, arguments: args }
  return upstreams.request(upstream(mode), {
    method: 'tools/call',
    params,
    timeoutMs: 20_000,
    isRepeatable: true,
    ...request,
  })
}
const textOf = (result: JsonObject): unknown => field(result, 'content', 0, 'text')
const told = async (key: string, mode?: string): Promise<unknown> =>
  field(await call('told', {}, mode === undefined ? {} : { mode }), 'structuredContent', key)

describe('one connection', () => {
  test('many calls at once start one server, and each gets its own answer', async () => {
    const words = Array.from({ length: 50 }, (_, at) => `word-${at}`)
    const answers = await Promise.all(words.map(async (word) => String(textOf(await call('echo', { word })))))
    expect(answers.map((answer) => answer.split(' ')[1])).toEqual(words)
    expect(new Set(answers.map((answer) => answer.split(' ')[0])).size).toBe(1)
    expect(starts).toBe(1)
  })

  test('a slow call does not hold up the ones behind it', async () => {
    const order: string[] = []
    await Promise.all([
      call('later', { word: 'slow', ms: 300 }).then(() => order.push('slow')),
      call('later', { word: 'fast', ms: 0 }).then(() => order.push('fast')),
    ])
    expect(order).toEqual(['fast', 'slow'])
  })

  test('other keys have servers of their own', async () => {
    const other = upstreams.request(upstream('good', { key: 'other' }), {
      method: 'tools/call',
      params: { name: 'echo', arguments: { word: 'w' } },
      timeoutMs: 20_000,
      isRepeatable: true,
    })
    expect(textOf(await other)).not.toBe(textOf(await call('echo', { word: 'w' })))
  })

  test('lines that are no messages, answers to nothing and answers given twice are skipped', async () => {
    expect(textOf(await call('echo', { word: 'a' }, { mode: 'noisy' }))).toMatch(/ a$/)
    expect(textOf(await call('echo', { word: 'b' }, { mode: 'noisy' }))).toMatch(/ b$/)
  })

  test('a server may ask whether we are there; what else it asks is refused', async () => {
    await call('echo', { word: 'a' }, { mode: 'noisy' })
    expect(await told('answered', 'noisy')).toEqual([
      { id: 'ours', result: {} },
      { id: 'more', error: { code: -32601, message: 'Kiwi does not answer this' } },
    ])
  })

  test('what it refuses is told with its own words', async () => {
    await expect(call('unknown')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot use "good": it says "Unknown tool"',
    })
  })
})

describe('N16: a call that is given up', () => {
  test('by time: the server is told, and the connection goes on', async () => {
    await expect(call('never', {}, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      retryable: true,
    })
    expect(await told('cancelled')).toEqual([{ requestId: 2, reason: 'timeout' }])
    expect(starts).toBe(1)
  })

  test('by time, when it may have changed something, does not invite a second time', async () => {
    await expect(call('never', {}, { timeoutMs: 50, isRepeatable: false })).rejects.toMatchObject({
      code: 'TIMEOUT',
      retryable: false,
    })
  })

  test('by its caller: at once, while it is started too', async () => {
    const opening = new AbortController()
    const early = call('never', {}, { signal: opening.signal })
    opening.abort()
    await expect(early).rejects.toMatchObject({ code: 'CANCELLED' })
    const open = new AbortController()
    await call('echo', { word: 'up' })
    const late = call('never', {}, { signal: open.signal })
    setTimeout(() => open.abort(), 20)
    await expect(late).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await told('cancelled')).toMatchObject([{ reason: 'cancelled' }])
    await expect(call('echo', {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    expect(starts).toBe(1)
  })
})

describe('a server that is lost', () => {
  test('takes its calls with it: unknown where something may have changed; the next call starts it anew', async () => {
    await call('echo', { word: 'up' })
    const [reading, changing, dying] = await Promise.allSettled([
      call('never'),
      call('never', {}, { isRepeatable: false }),
      call('die'),
    ])
    expect(reading).toMatchObject({ reason: { code: 'UPSTREAM_UNAVAILABLE', retryable: true } })
    expect(changing).toMatchObject({ reason: { code: 'OUTCOME_UNKNOWN' } })
    expect(dying).toMatchObject({ reason: { message: 'Cannot use "good": it ended with code 7' } })
    expect(textOf(await call('echo', { word: 'again' }))).toMatch(/ again$/)
    expect(starts).toBe(2)
  })

  test('by a message that is too large', async () => {
    await expect(call('huge')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
    expect(textOf(await call('echo', { word: 'again' }))).toMatch(/ again$/)
  })

  test('by closing its output', async () => {
    await expect(call('quiet')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    expect(textOf(await call('echo', { word: 'again' }))).toMatch(/ again$/)
  })

  test('while it starts: told with the reason, and tried anew by the next call', async () => {
    await expect(call('echo', {}, { mode: 'dies' })).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot use "dies": it ended with code 3',
    })
    await expect(call('echo', {}, { mode: 'dies' })).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    expect(starts).toBe(2)
  })

  test('that never answers is ended after its time to start', async () => {
    const deaf = upstream('deaf', { startupMs: 300 })
    const request = { method: 'tools/call', params: {}, timeoutMs: 5000, isRepeatable: true }
    await expect(upstreams.request(deaf, request)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot start "deaf": it does not answer',
    })
  })

  test('that cannot be started says why', async () => {
    const none = upstream('none', {
      open: () =>
        openStdioWire('none', subprocess, { command: '/no/such/program', args: [], env: {}, cwd: '/' }),
    })
    const request = { method: 'tools/call', params: {}, timeoutMs: 5000, isRepeatable: true }
    await expect(upstreams.request(none, request)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('/no/such/program'),
    })
  })
})

test('a server that nobody uses is closed, and started again when it is needed', async () => {
  const brief = upstream('good', { keepAliveMs: 30 })
  const params = { name: 'echo', arguments: { word: 'a' } }
  const request = { method: 'tools/call', params, timeoutMs: 5000, isRepeatable: true }
  const first = String(textOf(await upstreams.request(brief, request))).split(' ')[0]
  await expect.poll(() => isAlive(Number(first)), { timeout: 10_000 }).toBe(false)
  expect(String(textOf(await upstreams.request(brief, request))).split(' ')[0]).not.toBe(first)
})

test('closing ends every server', async () => {
  const pid = Number(String(textOf(await call('echo', { word: 'a' }))).split(' ')[0])
  await upstreams.close()
  expect(isAlive(pid)).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
