import { spawn } from 'node:child_process'
import { Pool } from 'undici'
import { openHttpClient } from '../src/primitives/http/http-client.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { Figure } from './measure.ts'
import { interleave, round } from './measure.ts'

const AT_ONCE = 200
const REQUESTS = 4000
const SERVER = `require('node:http').createServer((q, s) => { s.setHeader('content-type', 'application/json'); s.end(JSON.stringify({ ok: true, pad: 'x'.repeat(110) })) }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

export async function http(rounds: number): Promise<readonly Figure[]> {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  let port = ''
  for await (const chunk of server.stdout) {
    port += String(chunk)
    if (port.includes('\n')) break
  }
  const origin = `http://127.0.0.1:${port.trim()}`
  const client = openHttpClient({ allowHosts: ['127.0.0.1'], clock: systemClock })
  const pool = new Pool(origin, { connections: 100 })
  const request = {
    method: 'GET',
    url: `${origin}/`,
    headers: {},
    body: null,
    timeoutMs: 30_000,
    retries: 0,
    retryDelayMs: 1000,
    retryableStatuses: [],
    isIdempotent: null,
    maxResponseBytes: 1_000_000,
    maxRedirects: 5,
  }
  const ours = async (): Promise<void> => {
    const { success, error } = await client.request(request)
    if (!success) throw new Error(error ?? 'failed')
  }
  const theirs = async (): Promise<void> => {
    const { body } = await pool.request({ path: '/', method: 'GET' })
    await body.json()
  }
  try {
    const rates = await interleave(
      rounds,
      () => rate(ours),
      () => rate(theirs),
    )
    return [
      {
        id: 'B9',
        what: 'http_client, 200 concurrent on kept connections',
        how: `${REQUESTS} requests a round on loopback, JSON of 140 bytes, the server on the same two cores`,
        value: round(rates.ours.p50 / rates.theirs.p50),
        unit: 'x',
        detail: `${round(rates.ours.p50)} req/s against undici's Pool.request ${round(rates.theirs.p50)}`,
        target: { least: 0.8 },
      },
    ]
  } finally {
    await Promise.all([client.close(), pool.close()])
    server.kill()
  }
}

async function rate(one: () => Promise<void>): Promise<number> {
  let left = REQUESTS
  const worker = async (): Promise<void> => {
    while (left-- > 0) await one()
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return REQUESTS / ((performance.now() - started) / 1000)
}
