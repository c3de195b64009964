import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { loadConfig } from '../src/config/config.ts'
import { openKiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import type { Place } from '../test/fixtures/place.ts'
import { makeWheel } from '../test/fixtures/wheels.ts'
import type { Figure } from './measure.ts'
import { interleave, round, timed } from './measure.ts'

const SCRIPT = 'import json, sys\njson.load(sys.stdin)\nprint("ran")\n'
const PYTHON = {
  tool_type: 'script',
  executor: 'python_runtime',
  description: 'x',
  version: '1.0.0',
  mutates_state: false,
}

const DryRun = z.looseObject({ would_run: z.looseObject({ command: z.string() }) })

/** What a virtual environment costs once it is there, against the interpreter by itself. */
export async function environments(place: Place, client: Client, rounds: number): Promise<readonly Figure[]> {
  const wheels = join(place.folder, 'wheels')
  makeWheel(wheels, { name: 'kiwipart', version: '1.0.0', modules: { 'kiwipart.py': 'PART = 1\n' } })
  const user = place.env['KIWI_USER_SPACE'] ?? ''
  mkdirSync(user, { recursive: true })
  writeFileSync(
    join(user, 'kiwi.json'),
    JSON.stringify({ packages: { python: { no_index: true, find_links: [wheels] } } }),
  )
  const kiwi = await openKiwi(loadConfig(place.env))
  const call = async (args: object): Promise<void> => {
    const reply = await kiwi.call('execute', { item_type: 'tool', ...args }, client)
    if (reply.status !== 'success') throw new Error(JSON.stringify(reply.error))
  }
  try {
    const packed = { ...PYTHON, config: { requires: ['kiwipart'] } }
    const text = `import kiwipart\n${SCRIPT}`
    await call({
      action: 'create',
      item_id: 'packed',
      parameters: { manifest: packed, files: { 'main.py': text } },
    })
    const first = await timed(() => call({ action: 'run', item_id: 'packed' }))
    // Past what may stand in front of it on the PATH: a shim would make the environment look free.
    const interpreter = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
      encoding: 'utf8',
    }).trim()
    const file = join(place.folder, 'bare.py')
    writeFileSync(file, SCRIPT)
    const run = (): Promise<number> => timed(() => call({ action: 'run', item_id: 'packed' }))
    const times = await interleave(rounds, run, () => timed(() => bare(interpreter, file)))
    const { data } = await kiwi.call(
      'execute',
      { item_type: 'tool', action: 'run', item_id: 'packed', dry_run: true },
      client,
    )
    const { command } = DryRun.parse(data).would_run
    const own = await interleave(rounds, run, () => timed(() => bare(command, file)))
    return [
      {
        id: 'C10',
        what: 'a Python tool with a package, second run',
        how: 'p50, end to end through the gate, against the interpreter started by itself on the same script without the package',
        value: round(times.ours.p50 / times.theirs.p50),
        unit: 'x',
        detail: `p50 ${round(times.ours.p50)} ms against ${round(times.theirs.p50)} ms; p10 ${round(times.ours.p10)} against ${round(times.theirs.p10)}; the first run, which builds, ${round(first)} ms`,
        target: { most: 1.5 },
      },
      {
        id: 'C10',
        what: "the same against the environment's own interpreter",
        how: 'p50; it reads no packages of the whole machine, so it starts faster than the one it was made from',
        value: round(own.ours.p50 / own.theirs.p50),
        unit: 'x',
        detail: `p50 ${round(own.ours.p50)} ms against ${round(own.theirs.p50)} ms; p10 ${round(own.ours.p10)} against ${round(own.theirs.p10)}`,
        target: null,
      },
    ]
  } finally {
    await kiwi.close()
  }
}

async function bare(interpreter: string, file: string): Promise<void> {
  const child = spawn(interpreter, [file], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdout.resume()
  child.stderr.resume()
  child.stdin.on('error', () => undefined).end('{}')
  await once(child, 'close')
}
