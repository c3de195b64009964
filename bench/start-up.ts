import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { kiwi as asServer, rssMb as rssOf } from './contestants.ts'
import type { Figure } from './measure.ts'
import { interleave, ROOT, round } from './measure.ts'
import type { Place } from '../test/fixtures/place.ts'

const MESSAGES = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/list' },
]

/** Starts a server and waits for its answer to `tools/list`. */
async function firstList(
  script: string,
  place: Place,
): Promise<{ ms: number; bytes: number; rssMb: number }> {
  const started = performance.now()
  const child = spawn(process.execPath, [script], {
    cwd: place.project,
    env: place.env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.write(MESSAGES.map((message) => `${JSON.stringify(message)}\n`).join(''))
  let text = ''
  for await (const chunk of child.stdout) {
    text += String(chunk)
    if (text.includes('"id":2') && text.endsWith('\n')) break
  }
  const ms = performance.now() - started
  await sleep(300)
  const rssMb = rssOf(child.pid ?? 0)
  child.stdin.end()
  await once(child, 'exit')
  const [answer = ''] = text.split('\n').filter((line) => line.includes('"id":2'))
  const { tools } = z
    .object({ result: z.object({ tools: z.array(z.unknown()) }) })
    .parse(JSON.parse(answer)).result
  return { ms, bytes: Buffer.byteLength(JSON.stringify(tools)), rssMb }
}

/** Longer than what it takes until a server rests. */
const REST_MS = 25_000

async function pooledAtRest(place: Place): Promise<number> {
  const connected = await asServer.connect(place)
  try {
    await connected.call()
    await sleep(REST_MS)
    return rssOf(connected.pid)
  } finally {
    await connected.close()
  }
}

export async function startUp(place: Place, rounds: number): Promise<readonly Figure[]> {
  const kiwi = join(ROOT, 'dist/cli.js')
  const bare = join(ROOT, 'bench/bare-server.mjs')
  const rss: number[] = []
  let bytes = 0
  const times = await interleave(
    rounds,
    async () => {
      const seen = await firstList(kiwi, place)
      rss.push(seen.rssMb)
      bytes = seen.bytes
      return seen.ms
    },
    async () => (await firstList(bare, place)).ms,
  )
  const idle = rss.toSorted((a, b) => a - b)[Math.floor(rss.length / 2)] ?? NaN
  return [
    {
      id: 'B3',
      what: 'cold start to the answered tools/list, stdio',
      how: 'spawn of the built server; a bare SDK server, unbundled, with four static tools, is the denominator',
      value: round(times.ours.p50 / times.theirs.p50),
      unit: 'x',
      detail: `p50 ${round(times.ours.p50)} ms against ${round(times.theirs.p50)} ms; p10 ${round(times.ours.p10)} against ${round(times.theirs.p10)}`,
      target: { most: 1.3 },
    },
    {
      id: 'B4',
      what: 'memory when idle, one upstream pooled',
      how: `resident set of the built stdio server, its child not counted: one call of a tool of the server, then nothing for ${REST_MS / 1000} s`,
      value: round(await pooledAtRest(place)),
      unit: 'MB',
      detail: `${round(idle)} MB when listed once, no call made`,
      target: { most: 90 },
    },
    {
      id: 'B5',
      what: 'tools/list of the four tools',
      how: 'bytes of the tools as JSON',
      value: bytes,
      unit: 'bytes',
      detail: 'one ordinary server needs 7.7 KB',
      target: { most: 2560 },
    },
  ]
}
