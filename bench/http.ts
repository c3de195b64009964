import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Pool } from 'undici'
import type { HttpClient } from '../src/primitives/http/http-client.ts'
import { openHttpClient } from '../src/primitives/http/http-client.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { Figure } from './measure.ts'
import { ROOT, interleave, round } from './measure.ts'

const AT_ONCE = 200
const REQUESTS = 4000
const CONNECTIONS = 100
const SERVER = join(ROOT, 'bench/json-server.mjs')

export async function http(rounds: number): Promise<readonly Figure[]> {
  const server = spawn(process.execPath, [SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  let port = ''
  for await (const chunk of server.stdout) {
    port += String(chunk)
    if (port.includes('\n')) break
  }
  const origin = `http://127.0.0.1:${port.trim()}`
  const means = { allowHosts: ['127.0.0.1'], clock: systemClock }
  const keeping = openHttpClient({ ...means, idleConnections: CONNECTIONS })
  const usual = openHttpClient(means)
  const pool = new Pool(origin, { connections: CONNECTIONS })
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
  const by = (client: HttpClient) => async (): Promise<void> => {
    const { success, error } = await client.request(request)
    if (!success) throw new Error(error ?? 'failed')
  }
  const theirs = async (): Promise<void> => {
    const { body } = await pool.request({ path: '/', method: 'GET' })
    await body.json()
  }
  try {
    const against = (client: HttpClient): ReturnType<typeof interleave> =>
      interleave(
        rounds,
        () => rate(by(client)),
        () => rate(theirs),
      )
    const [kept, burst] = [await against(keeping), await against(usual)]
    const detailOf = ({ ours, theirs: other }: typeof kept): string =>
      `${round(ours.p50)} req/s against undici's Pool.request ${round(other.p50)}`
    return [
      {
        id: 'B9',
        what: 'http_client, 200 concurrent on kept connections',
        how: `${REQUESTS} requests a round on loopback, JSON of 140 bytes, both keep ${CONNECTIONS} connections, the server on the same two cores`,
        value: round(kept.ours.p50 / kept.theirs.p50),
        unit: 'x',
        detail: detailOf(kept),
        target: { least: 0.8 },
      },
      {
        id: 'B9',
        what: 'the same in bursts, as it is set by default',
        how: 'it keeps 20 connections without work, so each round opens 80 again; undici keeps all',
        value: round(burst.ours.p50 / burst.theirs.p50),
        unit: 'x',
        detail: detailOf(burst),
        target: null,
      },
    ]
  } finally {
    await Promise.all([keeping.close(), usual.close(), pool.close()])
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
