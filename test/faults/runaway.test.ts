import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

/** Says how long its own loop stood still, once its input ends. */
const IDLE = `const lag = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 10 })
lag.enable()
process.stdout.write(' ')
process.stdin.on('end', () => console.log(lag.percentile(99) / 1e6)).resume()`

/** How many processes have this word among their arguments. */
function withWord(word: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false
    }
  }).length
}

test.skipIf(process.platform !== 'linux')(
  'CMD-09: while a tool forks 10 000 times and another asks for 20 GB, Kiwi answers others and its loop does not stand still',
  async () => {
    const word = `7${process.pid}`
    const sandbox = { level: 'strict', required: true }
    const forks = `n=0; while [ $n -lt 10000 ]; do sleep ${word} & n=$((n+1)); done; wait`
    await temp.create('forks', { ...BASH, sandbox }, { 'main.sh': forks })
    const grabs = `exec '${process.execPath}' -e 'const kept = []; for (let n = 0; n < 40; n++) kept.push(Buffer.alloc(5e8)); console.log("HAD")'`
    await temp.create('grabs', { ...BASH, sandbox }, { 'main.sh': grabs })
    const cancel = new AbortController()
    const running = temp.call(
      'execute',
      { item_type: 'tool', action: 'run', item_id: 'forks' },
      cancel.signal,
    )
    await expect.poll(() => withWord(word), { timeout: 15_000, interval: 100 }).toBeGreaterThan(300)
    const control = spawn(process.execPath, ['-e', IDLE])
    const idleLag = text(control.stdout)
    await once(control.stdout, 'readable')
    const lag = monitorEventLoopDelay({ resolution: 10 })
    lag.enable()
    const grabbed = temp.run('grabs')
    for (let n = 0; n < 10; n++)
      expect((await temp.run('hello_bash', { name: String(n) })).data).toMatchObject({
        output: `Hello, ${n}!\n`,
      })
    lag.disable()
    control.stdin.end()
    // A process that has nothing to do waits for its turn as well.
    expect(lag.percentile(99) / 1e6).toBeLessThan(Math.max(200, 2 * Number(await idleLag)))
    const { data, error } = await grabbed
    expect([error?.code, JSON.stringify(data)]).toEqual(['TOOL_FAILED', expect.not.stringContaining('HAD')])
    cancel.abort()
    expect((await running).error?.code).toBe('CANCELLED')
    await expect.poll(() => withWord(word), { timeout: 5000 }).toBe(0)
  },
  60_000,
)
