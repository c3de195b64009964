import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { isWithinCall } from './within-call.ts'

let stop: () => void = () => {}
afterEach(() => stop())

/** The process below one that was started with these variables and cleared them. */
async function childOf(env: Record<string, string>): Promise<number> {
  const shell = spawn('/bin/sh', ['-c', 'env -i /bin/sh -c "echo \\$\\$; read line; true"; true'], { env })
  stop = () => shell.stdin.end('\n')
  const [pid] = await once(shell.stdout, 'data')
  return Number(String(pid))
}

test.each(['KIWI_CALL_ID', 'KIWI_PROCESS'])('N17: %s says that a tool started us', (name) => {
  expect(isWithinCall({ [name]: '1' })).toBe(true)
  expect(isWithinCall({ [`${name}S`]: '1' }, 1)).toBe(false)
})

test.runIf(process.platform === 'linux')(
  'N17: what a tool cleared from its environment still stands in its own',
  async () => {
    expect(isWithinCall({}, await childOf({ PATH: '/usr/bin:/bin', KIWI_PROCESS: '1' }))).toBe(true)
  },
)

test('a process that is gone, or that nobody of us started, says nothing', async () => {
  expect(isWithinCall({}, await childOf({ PATH: '/usr/bin:/bin' }))).toBe(false)
  expect(isWithinCall({}, 2 ** 22 + 1)).toBe(false)
})
