import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MemoryWire } from '../../test/fixtures/memory-wire.ts'
import { createMemoryWire, legacyAnswer } from '../../test/fixtures/memory-wire.ts'
import { KiwiError } from '../shared/errors.ts'
import type { ErrorCode } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'
import { openUpstreams } from './upstreams.ts'

let upstreams: Upstreams
let wires: MemoryWire[] = []
beforeEach(() => {
  upstreams = openUpstreams({ waitsMs: [1, 1] })
  wires = []
})
afterEach(() => upstreams.close())

const upstream = (key: string, answer: Parameters<typeof createMemoryWire>[0] = legacyAnswer): Upstream => ({
  id: key,
  key,
  startupMs: 5000,
  keepAliveMs: 60_000,
  open: async () => {
    const wire = createMemoryWire(answer)
    wires.push(wire)
    return wire
  },
})
const request = { method: 'tools/call', params: {}, timeoutMs: 5000, isRepeatable: true }
const states = (): readonly string[] => upstreams.status().map(({ state }) => state)

describe('M3: the number of connections is bounded', () => {
  test('M3: beyond 32 the longest unused ones are closed, and one in use never is', async () => {
    let answer: (given: JsonObject) => void = () => {}
    const held = new Promise<JsonObject>((resolve) => (answer = resolve))
    const busy = upstreams.request(
      upstream('busy', (message) => (message['method'] === 'tools/call' ? held : legacyAnswer(message))),
      request,
    )
    for (let at = 0; at < 40; at++) await upstreams.request(upstream(`u${at}`), request)
    expect(states().filter((state) => state === 'open')).toHaveLength(32)
    expect(states().slice(0, 3)).toEqual(['open', 'closed', 'closed'])
    expect(states().at(-1)).toBe('open')
    answer({ result: { late: true } })
    expect(await busy).toEqual({ late: true })
  })

  test('M3: of closed ones a bounded number is remembered', async () => {
    for (let at = 0; at < 300; at++) await upstreams.request(upstream(`u${at}`), request)
    expect(states()).toHaveLength(256)
  })
})

describe('M5: an upstream whose requests have ways of their own', () => {
  const failing = (code: ErrorCode, times: number, details: Record<string, unknown> = {}) => {
    let count = 0
    return upstream('far', (message) => {
      if (message['method'] !== 'tools/call' || count >= times) return legacyAnswer(message, { count })
      count += 1
      throw new KiwiError(code, 'Cannot use "far": no way', { details })
    })
  }

  test('M5: what was not handed over is sent again, three times in all', async () => {
    const once = { ...request, isRepeatable: false }
    expect(await upstreams.request(failing('UPSTREAM_UNAVAILABLE', 2), once)).toEqual({ count: 2 })
    const always = { ...failing('UPSTREAM_UNAVAILABLE', 9), key: 'always' }
    await expect(upstreams.request(always, once)).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    const calls = wires[1]?.sent.filter(({ method }) => method === 'tools/call')
    expect(calls).toHaveLength(3)
    expect(wires).toHaveLength(2)
  })

  test('M5: of what was handed over and nobody knows of, only what may be repeated is sent again', async () => {
    expect(await upstreams.request(failing('OUTCOME_UNKNOWN', 1), request)).toEqual({ count: 1 })
    const changing = upstreams.request(
      { ...failing('OUTCOME_UNKNOWN', 1), key: 'k' },
      { ...request, isRepeatable: false },
    )
    await expect(changing).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: 'Cannot use "far": no way',
    })
  })

  test('any other refusal is told as it is', async () => {
    await expect(upstreams.request(failing('LOGIN_REQUIRED', 1), request)).rejects.toMatchObject({
      code: 'LOGIN_REQUIRED',
    })
  })

  test('whoever gives up lets go of what was opened for the request', async () => {
    const silent = upstream('far', (message) =>
      message['method'] === 'tools/call' ? null : legacyAnswer(message),
    )
    await expect(upstreams.request(silent, { ...request, timeoutMs: 20 })).rejects.toMatchObject({
      code: 'TIMEOUT',
    })
    const at = wires[0]?.sent.findIndex(({ method }) => method === 'tools/call') ?? -1
    expect(wires[0]?.signals[at]?.aborted).toBe(true)
  })

  test('one that ended is opened anew, and the calls of a lost one fail or are sent again', async () => {
    const far = upstream('far', (message) => {
      if (message['method'] !== 'tools/call') return legacyAnswer(message)
      if (wires.length > 1) return { result: { again: true } }
      wires[0]?.end('it no longer knows the session')
      return null
    })
    expect(await upstreams.request(far, request)).toEqual({ again: true })
    expect(upstreams.status()).toMatchObject([{ restarts: 1, lastError: 'it no longer knows the session' }])
  })
})

describe('M2: an address that does not know the newer era', () => {
  const refusing = (status: number) =>
    upstream('far', (message) => {
      if (message['method'] !== 'server/discover') return legacyAnswer(message)
      const details = { status_code: status }
      throw new KiwiError('HTTP_STATUS', `Cannot use "far": it answered ${status}`, { details })
    })

  test.each([400, 404, 405, 415])('M2: and refuses with %i is spoken to the older way', async (status) => {
    expect(await upstreams.describe(refusing(status))).toMatchObject({
      era: 'legacy',
      protocol: '2025-06-18',
    })
    expect(wires[0]?.protocols).toEqual(['2025-06-18'])
  })

  test.each([401, 403, 500, 503])('M2: %i says nothing of the era', async (status) => {
    await expect(upstreams.describe(refusing(status))).rejects.toMatchObject({ code: 'HTTP_STATUS' })
    expect(wires).toHaveLength(1)
  })
})
