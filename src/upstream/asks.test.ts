import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { TempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Ask, AskedOfClient } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import { asItCame } from './read-message.ts'

let temp: TempUpstreams
beforeEach(() => {
  temp = openTempUpstreams()
})
afterEach(() => temp.close())

const METHODS = ['elicitation/create', 'sampling/createMessage', 'roots/list']
const answered = (result: JsonObject): unknown => field(result, 'structuredContent')

describe('S12: what an upstream asks', () => {
  test.each(METHODS)('S12: %s goes to the call that is made, and the answer back', async (method) => {
    const asked: AskedOfClient[] = []
    const ask: Ask = async (request) => {
      asked.push(request)
      return { action: 'accept' }
    }
    const result = await temp.call('asks', { method, params: { message: 'Sure?' } }, { ask })
    expect(asked).toEqual([{ from: 'good', method, params: { message: 'Sure?' } }])
    expect(answered(result)).toEqual({ result: { action: 'accept' } })
  })

  test.each(METHODS)('S12: %s is refused clearly where nobody can answer it', async (method) => {
    expect(answered(await temp.call('asks', { method }))).toEqual({
      error: { code: -32601, message: `Nobody who could answer ${method} is calling` },
    })
  })

  test('it may ask whether we are there; what nobody knows is refused', async () => {
    expect(answered(await temp.call('asks', { method: 'ping' }))).toEqual({ result: {} })
    expect(answered(await temp.call('asks', { method: 'x/y' }))).toEqual({
      error: { code: -32601, message: 'Kiwi does not answer "x/y"' },
    })
  })

  test('S12: what fails is told with its reason, and with the code of who refused', async () => {
    const [method] = METHODS
    const plain: Ask = () => Promise.reject(new Error('secret path'))
    expect(answered(await temp.call('asks', { method: method ?? '' }, { ask: plain }))).toEqual({
      error: { code: -32603, message: 'The question could not be passed on' },
    })
    const details = { rpc_error: { code: -1, message: 'no' } }
    const refusing: Ask = () => Promise.reject(new KiwiError('CANCELLED', 'Cannot ask: no', { details }))
    expect(answered(await temp.call('asks', { method: method ?? '' }, { ask: refusing }))).toEqual({
      error: { code: -1, message: 'Cannot ask: no' },
    })
  })

  test('S12: between several callers nobody is guessed, unless the question names its call', async () => {
    await temp.pid()
    const never = new AbortController()
    const other = temp.call(
      'never',
      {},
      { caller: 'b', ask: async () => ({ from: 'b' }), signal: never.signal },
    )
    const ask: Ask = async () => ({ from: 'a' })
    const method = 'roots/list'
    const refused: string[][] = []
    const onRefused = (...said: string[]): void => void refused.push(said)
    const more = { caller: 'a', ask, onRefused, progress: () => {} }
    expect(answered(await temp.call('asks', { method }, more))).toMatchObject({
      error: { code: -32600, message: expect.stringMatching(/^Several callers/) },
    })
    expect(refused).toEqual([[method, expect.stringMatching(/^several callers .* nobody was asked/)]])
    const given = field(await temp.call('given', {}, more), 'structuredContent', '_meta', 'progressToken')
    const params = { _meta: { progressToken: Number(given) + 1 } }
    expect(answered(await temp.call('asks', { method, params }, more))).toEqual({ result: { from: 'a' } })
    never.abort()
    await expect(other).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('S12: what is asked while the client of another call has long had its question is for the others', async () => {
    await temp.pid()
    const method = 'roots/list'
    const asked: string[] = []
    const gone = new AbortController()
    const left: Ask = (_, signal) =>
      new Promise((_resolve, reject) => {
        asked.push('a')
        signal?.addEventListener('abort', () => reject(new Error('gone')))
      })
    const waiting = temp.call('asks', { method }, { caller: 'a', ask: left, signal: gone.signal })
    await expect.poll(() => asked).toEqual(['a'])
    const more = { caller: 'b', ask: async () => ({ from: 'b' }) }
    // What comes at once may be one thing more that the first call wants to know.
    expect(answered(await temp.call('asks', { method }, more))).toMatchObject({ error: { code: -32600 } })
    await delay(1100)
    expect(answered(await temp.call('asks', { method }, more))).toEqual({ result: { from: 'b' } })
    expect(asked).toEqual(['a'])
    gone.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('S12: of several calls of one caller the newest that can is asked', async () => {
    await temp.pid()
    const never = new AbortController()
    const other = temp.call(
      'never',
      {},
      { caller: 'a', ask: async () => ({ old: true }), signal: never.signal },
    )
    const result = await temp.call(
      'asks',
      { method: 'roots/list' },
      { caller: 'a', ask: async () => ({ roots: [] }) },
    )
    expect(answered(result)).toEqual({ result: { roots: [] } })
    never.abort()
    await expect(other).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('S12: while somebody is asked, the time of the call stands still', async () => {
    await temp.pid()
    const ask: Ask = () => new Promise((resolve) => setTimeout(() => resolve({ roots: [] }), 3000))
    const result = await temp.call('asks', { method: 'roots/list' }, { ask, timeoutMs: 1500 })
    expect(answered(result)).toEqual({ result: { roots: [] } })
  })

  test('S12: a question ends when the upstream takes it back, and with the call it belongs to', async () => {
    const signals: Stop[] = []
    const ask: Ask = (_, signal) =>
      new Promise((_resolve, reject) => {
        if (signal === undefined) return
        signals.push(signal)
        signal.addEventListener('abort', () => reject(new Error('taken back')))
      })
    const call = temp.call('asks', { method: 'roots/list', cancelAfterMs: 5 }, { ask })
    await call
    await expect.poll(() => signals[0]?.aborted).toBe(true)
    const controller = new AbortController()
    const waiting = temp.call('asks', { method: 'roots/list' }, { ask, signal: controller.signal })
    await expect.poll(() => signals.length).toBe(2)
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(signals[1]?.aborted).toBe(true)
  })

  test('S12: a flood of questions is refused, and the call ends at its time', async () => {
    let asked = 0
    const ask: Ask = async () => {
      asked += 1
      return { roots: [] }
    }
    const flood = temp.call(
      'floods',
      { method: 'roots/list', count: 20_000 },
      { ask, timeoutMs: 2000, isRepeatable: false },
    )
    await expect(flood).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(asked).toBeLessThanOrEqual(64)
    const answers = field(asItCame(await temp.call('told')), 'structuredContent', 'answered')
    expect(answers).toContainEqual({
      id: 'f1000',
      error: { code: -32600, message: 'One call asks no more than 64 questions' },
    })
  })
})
