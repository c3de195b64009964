import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import { isAlive } from '../../test/fixtures/probe.ts'
import type { TempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { UpstreamNotice } from './upstream.ts'

let temp: TempUpstreams
beforeEach(() => {
  temp = openTempUpstreams()
})
afterEach(() => temp.close())

const textOf = (result: JsonObject): unknown => field(result, 'content', 0, 'text')
const request = {
  method: 'tools/call',
  params: { name: 'echo', arguments: { word: 'w' } },
  timeoutMs: 20_000,
}
const repeatable = { ...request, isRepeatable: true }

describe('M3: one connection', () => {
  test('M3: 50 calls at once start one server, and each gets its own answer', async () => {
    const words = Array.from({ length: 50 }, (_, at) => `word-${at}`)
    const answers = await Promise.all(
      words.map(async (word) => String(textOf(await temp.call('echo', { word })))),
    )
    expect(answers.map((answer) => answer.split(' ')[1])).toEqual(words)
    expect(new Set(answers.map((answer) => answer.split(' ')[0])).size).toBe(1)
    expect(temp.starts).toBe(1)
  })

  test('a slow call does not hold up the ones behind it', async () => {
    const order: string[] = []
    await Promise.all([
      temp.call('later', { word: 'slow', ms: 300 }).then(() => order.push('slow')),
      temp.call('later', { word: 'fast', ms: 0 }).then(() => order.push('fast')),
    ])
    expect(order).toEqual(['fast', 'slow'])
  })

  test('other keys have servers of their own', async () => {
    const other = await temp.upstreams.request(temp.upstream('good', { key: 'other' }), repeatable)
    expect(textOf(other)).not.toBe(textOf(await temp.call('echo', { word: 'w' })))
    expect(temp.upstreams.status().map(({ key, state }) => [key, state])).toEqual([
      ['other', 'open'],
      ['good', 'open'],
    ])
  })

  test('lines that are no messages, answers to nothing and answers given twice are skipped', async () => {
    expect(textOf(await temp.call('echo', { word: 'a' }, { mode: 'noisy' }))).toMatch(/ a$/)
    expect(textOf(await temp.call('echo', { word: 'b' }, { mode: 'noisy' }))).toMatch(/ b$/)
  })

  test('what a server that reads lines may take for the end of one is sent escaped', async () => {
    const raw = temp.program('raw', [
      '-e',
      `process.stdin.setEncoding('utf8').on('data', (text) => text.trim().split('\\n').forEach((line) => {
        const { id, method } = JSON.parse(line)
        const said = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'raw', version: '1' } }
        const result = method === 'tools/call' ? { isWhole: !/[\\u0085\\u2028\\u2029]/.test(line) } : said
        const answer = method === 'server/discover' ? { error: { code: -32601, message: 'no' } } : { result }
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
      }))`,
    ])
    const params = { name: 'echo', arguments: { word: 'a\u0085b\u2028c\u2029d' } }
    expect(await temp.upstreams.request(raw, { ...repeatable, params })).toEqual({ isWhole: true })
  })

  test('what it refuses is told with its own words, and whole for whoever passes it on', async () => {
    await expect(temp.call('unknown')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot use "good": it says "Unknown tool"',
      details: { rpc_error: { code: -32602, message: 'Unknown tool' } },
    })
  })

  test('M3: a server that nobody uses is closed, and started again when it is needed', async () => {
    const brief = temp.upstream('good', { keepAliveMs: 30 })
    const first = Number(String(textOf(await temp.upstreams.request(brief, repeatable))).split(' ')[0])
    await expect.poll(() => isAlive(first), { timeout: 10_000 }).toBe(false)
    expect(temp.upstreams.status()).toMatchObject([{ state: 'closed', restarts: 0 }])
    expect(await temp.pid()).not.toBe(first)
    expect(temp.upstreams.status()).toMatchObject([{ state: 'open', restarts: 0 }])
  })

  test.each([30, 0])(
    'M3: one that somebody waits for is not idle, if kept for %d ms',
    async (keepAliveMs) => {
      const brief = temp.upstream('good', { keepAliveMs })
      const params = { name: 'later', arguments: { word: 'w', ms: 400 } }
      expect(textOf(await temp.upstreams.request(brief, { ...repeatable, params }))).toBe('w')
      expect(temp.starts).toBe(1)
    },
  )

  test('M3: one that somebody comes back to is not idle either, until they let go of it', async () => {
    const brief = temp.upstream('good', { keepAliveMs: 0 })
    const letGo = temp.upstreams.hold(brief)
    const pid = Number(String(textOf(await temp.upstreams.request(brief, repeatable))).split(' ')[0])
    const later = { name: 'later', arguments: { word: 'w', ms: 100 } }
    await temp.upstreams.request(brief, { ...repeatable, params: later })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([isAlive(pid), temp.starts]).toEqual([true, 1])
    letGo()
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
  })

  test('M3: one that nobody will use again is closed, and forgotten', async () => {
    const pid = await temp.pid()
    await temp.upstreams.release('good')
    expect(isAlive(pid)).toBe(false)
    expect(temp.upstreams.status()).toEqual([])
  })

  test('M3: closing ends every server, one that is being started too', async () => {
    const pid = await temp.pid()
    const starting = temp.call('echo', {}, { mode: 'deaf' })
    await Promise.all([
      expect(starting).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' }),
      temp.upstreams.close(),
    ])
    expect(isAlive(pid)).toBe(false)
    await expect(temp.call('echo')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  })
})

describe('N16: a call that is given up', () => {
  test('by time: the server is told, and the connection goes on', async () => {
    // What is left of a longer time is seldom a whole number.
    await expect(temp.call('never', {}, { timeoutMs: 49.99958 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'Cannot use "good": it took longer than 0.05 s',
      retryable: true,
    })
    expect(await temp.told('cancelled')).toMatchObject([{ reason: 'timeout' }])
    expect(temp.starts).toBe(1)
  })

  test('by time, when it may have changed something, does not invite a second time', async () => {
    await expect(temp.call('never', {}, { timeoutMs: 50, isRepeatable: false })).rejects.toMatchObject({
      code: 'TIMEOUT',
      retryable: false,
    })
  })

  test('by its caller: at once, while it is started too', async () => {
    const opening = new AbortController()
    const early = temp.call('never', {}, { signal: opening.signal })
    opening.abort()
    await expect(early).rejects.toMatchObject({ code: 'CANCELLED' })
    const open = new AbortController()
    await temp.call('echo', { word: 'up' })
    const late = temp.call('never', {}, { signal: open.signal })
    setTimeout(() => open.abort(), 20)
    await expect(late).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await temp.told('cancelled')).toMatchObject([{ reason: 'cancelled' }])
    await expect(temp.call('echo', {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    expect(temp.starts).toBe(1)
  })
})

describe('M5: a server that is lost', () => {
  test('M5: what may have changed something is not sent again; what only reads is', async () => {
    const first = await temp.pid()
    const reading = temp.call('later', { word: 'read', ms: 500 })
    const changing = temp.call('never', {}, { isRepeatable: false })
    const both = Promise.allSettled([reading, changing])
    process.kill(first, 'SIGKILL')
    const [read, changed] = await both
    expect(read).toMatchObject({ value: { content: [{ text: 'read' }] } })
    expect(changed).toMatchObject({
      reason: { code: 'OUTCOME_UNKNOWN', message: 'Cannot use "good": it ended with SIGKILL' },
    })
    expect(temp.starts).toBe(2)
  })

  test('M5: a call that always takes it down is sent three times, and fails', async () => {
    await temp.pid()
    await expect(temp.call('die')).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot use "good": it ended with code 7',
    })
    expect(temp.starts).toBe(3)
    expect(textOf(await temp.call('echo', { word: 'again' }))).toMatch(/ again$/)
  })

  test('M5: one that dies before the first request is read is tried again', async () => {
    let count = 0
    const { open } = temp.upstream('good')
    const dying = temp.upstream('dies')
    const flaky = temp.upstream('good', { open: () => (count++ < 2 ? dying.open() : open()) })
    const changing = { ...request, isRepeatable: false }
    expect(textOf(await temp.upstreams.request(flaky, changing))).toMatch(/ w$/)
  })

  test('M5: one whose pipe is found closed before its end is known is started again as soon as that is known', async () => {
    const patient = openTempUpstreams('upstream', { waitsMs: [600_000] })
    const { open } = patient.upstream()
    let hasFailed = false
    const closing = patient.upstream('good', {
      async open() {
        const wire = await open()
        return {
          ...wire,
          async send(message: JsonObject) {
            if (hasFailed || message['method'] !== 'tools/call') return wire.send(message)
            hasFailed = true
            setImmediate(() => void wire.close())
            throw new KiwiError('UPSTREAM_UNAVAILABLE', 'Cannot use "good": it has ended')
          },
        }
      },
    })
    expect(textOf(await patient.upstreams.request(closing, repeatable))).toMatch(/ w$/)
    expect(patient.starts).toBe(2)
    await patient.close()
  })

  test('M5: who listens hears that it is up again', async () => {
    const heard: UpstreamNotice[] = []
    const silence = temp.upstreams.onNotice((notice) => heard.push(notice))
    const pid = await temp.pid()
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => temp.upstreams.status()[0]?.state).toBe('closed')
    expect(await temp.pid()).not.toBe(pid)
    expect(heard).toEqual([{ key: 'good', id: 'good', method: 'kiwi/restarted', params: {} }])
    expect(temp.upstreams.status()).toEqual([
      { key: 'good', id: 'good', state: 'open', restarts: 1, lastError: 'it ended with SIGKILL' },
    ])
    silence()
  })

  test('by a message that is too large', async () => {
    await expect(temp.call('huge')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
    expect(textOf(await temp.call('echo', { word: 'again' }))).toMatch(/ again$/)
  })

  test('by closing its output', async () => {
    await expect(temp.call('quiet')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    expect(textOf(await temp.call('echo', { word: 'again' }))).toMatch(/ again$/)
  })

  test('that never answers is ended after its time to start', async () => {
    const deaf = temp.upstream('deaf', { startupMs: 300 })
    await expect(temp.upstreams.request(deaf, repeatable)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot start "deaf": it does not answer',
    })
    expect(temp.starts).toBe(1)
  })

  test('UP-03: that always ends at its start is not started on and on, and says what it wrote', async () => {
    const missing = temp.program('missing', ['-e', 'require("/no/such/module")'])
    const refusal = {
      code: 'UPSTREAM_UNAVAILABLE',
      message: `Cannot start "missing": it ended with code 1: Error: Cannot find module '/no/such/module'`,
      retryable: false,
      hint: 'Do not repeat it: details.stderr says what is wrong with it, for the person to correct',
      details: { exit_code: 1 },
    }
    await expect(temp.upstreams.request(missing, repeatable)).rejects.toMatchObject(refusal)
    // Once as one of the newer era, and twice as one of the older.
    expect(temp.starts).toBe(3)
    await expect(temp.upstreams.request(missing, repeatable)).rejects.toMatchObject(refusal)
    expect(temp.starts).toBe(4)
  })

  test('UP-03: that always ends without a word is not said to have written what is wrong', async () => {
    const dead = temp.program('dead', ['-e', 'process.exit(3)'])
    await expect(temp.upstreams.request(dead, repeatable)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot start "dead": it ended with code 3',
      hint: 'Do not repeat it: it writes nothing before it ends, so the person looks at its command and arguments',
    })
  })

  test('that cannot be started says why, at once', async () => {
    const none = temp.program('none', [], {}, '/no/such/program')
    await expect(temp.upstreams.request(none, repeatable)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('/no/such/program'),
    })
    expect(temp.starts).toBe(1)
  })
})
