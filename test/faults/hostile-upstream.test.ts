import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSchemas } from '../../src/chain/schemas.ts'
import type { JsonObject } from '../../src/shared/json.ts'
import { isJsonObject } from '../../src/shared/json.ts'
import { listTools } from '../../src/upstream/list-tools.ts'
import type { Upstream } from '../../src/upstream/upstream.ts'
import { field } from '../fixtures/field.ts'
import { isAlive } from '../fixtures/probe.ts'
import type { TempUpstreams } from '../fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../fixtures/temp-upstreams.ts'

let good: TempUpstreams
let temp: TempUpstreams
beforeEach(() => {
  good = openTempUpstreams()
  temp = openTempUpstreams('hostile')
})
afterEach(async () => {
  await Promise.all([good.close(), temp.close()])
})

/** So long the good one is called, and the other one beside it, over and over. */
const WINDOW_MS = 1000
const PAUSE_MS = 20
/** On a machine that others use, the best of so many tries counts: what the hostile one costs is in all of them. */
const TRIES = 5
/** Where nothing else runs, a call takes less than the start of a process, which some of them force again and again. */
const MOMENT_MS = 5

/** The times of calls one after the other to a good upstream; none of them may fail. */
async function timesOfCalls(until: number): Promise<readonly number[]> {
  const times: number[] = []
  while (performance.now() < until) {
    const begun = performance.now()
    const result = await good.call('echo', { word: String(times.length) })
    expect(said(result)).toMatch(new RegExp(` ${times.length}$`))
    times.push(performance.now() - begun)
  }
  return times
}

interface Beside {
  readonly p99: number
  readonly calls: number
  /** How the first use of the other one ended: what it said, or a code. */
  readonly ended: string
}

/** Starts another upstream and uses it while the good one is called. */
async function beside({ key }: Upstream, use: () => Promise<string>): Promise<Beside> {
  const until = performance.now() + WINDOW_MS
  const ends: string[] = []
  const using = (async () => {
    while (performance.now() < until) {
      ends.push(await use().catch((error: unknown) => String(field(error, 'code'))))
      await delay(PAUSE_MS)
    }
  })()
  const times = await timesOfCalls(until)
  await using
  await temp.upstreams.release(key)
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
  return { p99, calls: times.length, ended: ends[0] ?? '' }
}

const attack = (mode: string, more: object = {}): Promise<JsonObject> =>
  temp.call('attack', {}, { mode, timeoutMs: 20_000, isRepeatable: false, ...more })
/** Only what is given up has a short time; a busy machine may be slow at all others. */
const hostile = (mode: string): Upstream =>
  temp.upstream(mode, { startupMs: mode === 'never answers initialize' ? 1000 : 30_000 })
const ask = {
  method: 'tools/call',
  params: { name: 'attack', arguments: {} },
  timeoutMs: 30_000,
  isRepeatable: false,
}

/** Each mode with how its own call ends: a code, or what it answers. */
const MODES: readonly (readonly [mode: string, end: string | RegExp])[] = [
  ['never answers initialize', 'UPSTREAM_UNAVAILABLE'],
  ['crashes at start', 'UPSTREAM_UNAVAILABLE'],
  ['hangs in a call', 'TIMEOUT'],
  ['crashes in a call', 'OUTCOME_UNKNOWN'],
  ['garbage on stdout', /^\d+ $/],
  ['100 MB answer', 'OUTCOME_UNKNOWN'],
  ['line without end', 'OUTCOME_UNKNOWN'],
  ['wrong ids', /^yours$/],
  ['deep JSON', 'TOO_DEEP'],
  ['prototype keys', /^undefined$/],
  ['progress flood', 'TIMEOUT'],
  ['list_changed storm', /^\d+ $/],
  ['notice flood', /^\d+ $/],
  ['question flood', /^\d+ $/],
  ['cursor loop', /^\d+ $/],
  ['stderr flood', /^\d+ $/],
  ['ignores EOF and SIGTERM', /^\d+ $/],
  ['schema bomb', /^\d+ $/],
]

const said = (result: JsonObject): string => String(field(result, 'content', 0, 'text'))

const schemas = openSchemas()

/** All by which an upstream can do harm: it is called and listed, and its schemas are compiled. */
async function suffer(mode: string, timeoutMs: number): Promise<string> {
  const upstream = hostile(mode)
  const result = said(
    await temp.upstreams.request(upstream, { ...ask, timeoutMs, progress: () => {}, tell: () => {} }),
  )
  const { tools } = await listTools(temp.upstreams, upstream, { timeoutMs })
  for (const { inputSchema } of tools)
    await schemas.compile(isJsonObject(inputSchema) ? inputSchema : {}, mode).catch(() => null)
  return result
}

describe('R-08: beside a hostile upstream a good one keeps serving', () => {
  for (const [mode, end] of MODES) {
    test(
      `R-08: beside one that ${mode}, with twice the p99 it has beside an idle one, or a moment more`,
      {
        timeout: 120_000,
      },
      async () => {
        const timeoutMs = end === 'TIMEOUT' ? 1000 : 30_000
        const idle = temp.upstream('good', { startupMs: 30_000 })
        await good.pid()
        let isServed = false
        for (let tries = 0; tries < TRIES && !isServed; tries++) {
          const quiet = await beside(idle, () => suffer('good', timeoutMs))
          const loud = await beside(hostile(mode), () => suffer(mode, timeoutMs))
          const [before, now] = [quiet, loud].map(
            ({ p99, calls }) => `${p99.toFixed(2)} ms of ${calls} calls`,
          )
          process.stderr.write(`${mode}: p99 ${before} beside an idle one, ${now} beside it\n`)
          if (typeof end === 'string') expect(loud.ended).toBe(end)
          else expect(loud.ended).toMatch(end)
          isServed = loud.p99 <= Math.max(2 * quiet.p99, quiet.p99 + MOMENT_MS)
        }
        expect(isServed).toBe(true)
        expect(Reflect.get({}, 'polluted')).toBeUndefined()
        expect(good.starts).toBe(1)
      },
    )
  }
})

describe('one bad upstream', () => {
  test('UP-01: one that never answers is given up in time, and gone', async () => {
    let gone = 0
    const deaf = hostile('never answers initialize')
    const open = async () => {
      const wire = await deaf.open()
      void wire.ended.then(() => (gone += 1))
      return wire
    }
    await expect(temp.upstreams.request({ ...deaf, open }, ask)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot start "never answers initialize": it does not answer',
    })
    expect(gone).toBe(1)
  })

  test('UP-03: a crash in a call ends it within a second, and the next call is served by another', async () => {
    const mode = 'crashes in a call'
    await temp.pid(mode)
    const begun = performance.now()
    await expect(attack(mode)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await temp.pid(mode)).toBeGreaterThan(0)
    process.stderr.write(
      `UP-03: crashed and served again after ${(performance.now() - begun).toFixed(0)} ms\n`,
    )
    expect(temp.starts).toBe(2)
  })

  test('UP-03: of a crash loop a hundred calls start six programs, then it is left alone and says for how long', async () => {
    const mode = 'crashes at start'
    const ends = await Promise.allSettled(Array.from({ length: 50 }, () => attack(mode)))
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true)
    for (let at = 0; at < 50; at++)
      await expect(attack(mode)).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    await expect(attack(mode)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^Cannot start "crashes at start": it ended too often within a minute: /,
      ),
      details: { retry_after: expect.any(Number) },
      retryable: true,
    })
    expect(temp.starts).toBe(6)
    expect(temp.upstreams.status()).toMatchObject([{ state: 'circuit', restarts: 5 }])
  })

  test.each(['100 MB answer', 'line without end'])(
    'UP-04: %s ends the connection at its limit',
    async (mode) => {
      await temp.pid(mode)
      const before = process.memoryUsage().arrayBuffers
      let most = before
      const sampling = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)), 1)
      await expect(attack(mode, { isRepeatable: true, timeoutMs: 20_000 })).rejects.toMatchObject({
        code: 'MESSAGE_TOO_LARGE',
      })
      clearInterval(sampling)
      expect(most - before).toBeLessThan(4 * 10 * 1024 * 1024)
      expect(await temp.pid(mode)).toBeGreaterThan(0)
    },
  )

  test('UP-06: a storm of list_changed is told at most once a second', async () => {
    const heard: number[] = []
    temp.upstreams.onNotice(() => heard.push(performance.now()))
    const begun = performance.now()
    await temp.pid('list_changed storm')
    await delay(2500)
    const seconds = (performance.now() - begun) / 1000
    expect(heard.length).toBeGreaterThan(1)
    expect(heard.length).toBeLessThanOrEqual(Math.ceil(seconds) + 1)
  })

  test('UP-09: answers with other ids, given twice or before the question reach nobody', async () => {
    for (let at = 0; at < 40; at++) {
      const [answer, other] = await Promise.all([
        attack('wrong ids'),
        good.call('echo', { word: String(at) }),
      ])
      expect(field(answer, 'content', 0, 'text')).toBe('yours')
      expect(field(other, 'content', 0, 'text')).toMatch(new RegExp(` ${at}$`))
    }
  })

  test('UP-11: a flood on stderr blocks nobody, and only its end is kept', async () => {
    const mode = 'stderr flood'
    for (let at = 0; at < 20; at++) expect(await temp.pid(mode)).toBeGreaterThan(0)
  })

  test('UP-12: one that ignores EOF and SIGTERM is killed', { timeout: 20_000 }, async () => {
    const pid = await temp.pid('ignores EOF and SIGTERM')
    const begun = performance.now()
    await temp.upstreams.close()
    process.stderr.write(`UP-12: gone after ${(performance.now() - begun).toFixed(0)} ms\n`)
    expect(isAlive(pid)).toBe(false)
  })
})
