import { spawn } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { z } from 'zod'
import type { Kiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import type { Figure } from './measure.ts'
import { interleave, round, timed } from './measure.ts'

const MANIFEST = {
  tool_type: 'script',
  executor: 'true_runtime',
  description: 'does nothing',
  mutates_state: false,
}

export async function execute(kiwi: Kiwi, client: Client, rounds: number): Promise<readonly Figure[]> {
  const call = async (args: object, by: Client = client): Promise<void> => {
    const reply = await kiwi.call('execute', { item_type: 'tool', ...args }, by)
    if (reply.status !== 'success') throw new Error(JSON.stringify(reply.error))
  }
  // What a person made is run as it is; what an agent made is kept from Kiwi's own files.
  const agent: Client = { ...client, kind: 'agent' }
  const create = (item_id: string, manifest: object, files = {}, by = client): Promise<void> =>
    call({ action: 'create', item_id, parameters: { manifest, files } }, by)
  await create('true_runtime', {
    tool_type: 'runtime',
    executor: 'subprocess',
    description: 'x',
    config: { command: '/bin/true' },
  })
  await create('true_tool', MANIFEST)
  await create('true_held', MANIFEST, {}, agent)
  // Nothing says that it changes something, so it is not kept for undo; nor that it does not.
  const { mutates_state: _, ...unsaid } = MANIFEST
  await create('true_once', unsaid)
  await create(
    'echo_tool',
    {
      tool_type: 'bash',
      description: 'x',
      mutates_state: false,
      parameters: [{ name: 'n', type: 'integer' }],
    },
    { 'main.sh': '#!/bin/bash\necho $KIWI_PARAM_N' },
  )
  const run =
    (item_id: string, by = client) =>
    () =>
      timed(() => call({ action: 'run', item_id }, by))
  // A server is warm after its first minutes: the path of a run without its spawn, and the journal.
  for (let turn = 0; turn < WARM_UP; turn++) {
    const item_id = turn % 4 === 0 ? 'kiwi-overview' : 'true_tool'
    await kiwi.call('execute', { item_type: 'tool', action: 'run', item_id, dry_run: turn % 4 !== 0 }, client)
  }
  const times = await interleave(rounds, run('true_tool'), () => timed(bareSpawn))
  const once = await interleave(rounds, run('true_once'), () => timed(bareSpawn))
  const held = await interleave(rounds, run('true_held', agent), () => timed(bareSpawn))
  return [
    {
      id: 'B8',
      what: 'execute of /bin/true, end to end',
      how: `p10, cached plan, after ${WARM_UP} dry runs and readings: resolve, gate, two committed records, spawn, capture; a read-only tool`,
      value: round(times.ours.p10 / times.theirs.p10),
      unit: 'x',
      detail: `p10 ${round(times.ours.p10)} ms against node's own spawn ${round(times.theirs.p10)} ms; p50 ${round(times.ours.p50)} against ${round(times.theirs.p50)}`,
      target: { most: 1.3 },
    },
    {
      id: 'B8',
      what: 'the same for a call that must not be repeated',
      how: 'p10; its decision is written with full sync',
      value: round(once.ours.p10 / once.theirs.p10),
      unit: 'x',
      detail: `p10 ${round(once.ours.p10)} ms, p50 ${round(once.ours.p50)} ms`,
      target: null,
    },
    {
      id: 'B8',
      what: 'the same for a tool an agent made (held)',
      how: 'p10; what is Kiwi its own is out of its reach',
      value: round(held.ours.p10 / held.theirs.p10),
      unit: 'x',
      detail: `p10 ${round(held.ours.p10)} ms, p50 ${round(held.ours.p50)} ms`,
      target: null,
    },
    await concurrent(kiwi, client),
  ]
}

function bareSpawn(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/true', [], { stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.stderr.resume()
    child.stdin.on('error', () => undefined).end('{}')
    child.on('error', reject).on('close', () => resolve())
  })
}

const AT_ONCE = 200
const WARM_UP = 8000
const Output = z.looseObject({ output: z.number() })

async function concurrent(kiwi: Kiwi, client: Client): Promise<Figure> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const started = performance.now()
  const replies = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      kiwi.call(
        'execute',
        { item_type: 'tool', action: 'run', item_id: 'echo_tool', parameters: { n } },
        client,
      ),
    ),
  )
  const seconds = (performance.now() - started) / 1000
  delay.disable()
  const right = replies.filter(({ data }, n) => Output.safeParse(data).data?.output === n).length
  return {
    id: 'B10',
    what: 'longest stall of the loop during 200 concurrent runs',
    how: 'bash scripts that echo their parameter',
    value: round(delay.max / 1e6),
    unit: 'ms',
    detail: `${right} of ${AT_ONCE} right, ${round(AT_ONCE / seconds)} runs/s`,
    target: { most: right === AT_ONCE ? 100 : 0 },
  }
}
