import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shell } from '../../../test/fixtures/probe.ts'
import { systemClock } from '../../shared/clock.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Command } from './command.ts'
import type { Confinement, SandboxLevel } from './confinement.ts'
import { SANDBOX_LEVELS } from './confinement.ts'
import type { Subprocess } from './subprocess.ts'
import { openSubprocess } from './subprocess.ts'

let subprocess: Subprocess
beforeAll(() => {
  subprocess = openSubprocess({ clock: systemClock })
})
afterAll(() => subprocess.close())

async function held(level: SandboxLevel, script: string, more: Partial<Command> = {}): Promise<Command> {
  const { program, missing } = await subprocess.sandbox()
  expect(missing).toEqual({ own: null, fs: null, strict: null })
  const confinement: Confinement = {
    program,
    level,
    hasNetwork: level !== 'strict',
    hidden: level === 'own' ? [] : ['/tmp'],
    sealed: [],
    empty: [],
    read: [],
    write: [],
    guarded: [],
    masked: [],
    needed: [],
    links: [],
  }
  return { ...shell(script, more), cwd: '/', confinement }
}

/** The processes that have this word among their arguments, wherever they are counted. */
function withWord(word: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(word)
    } catch {
      return false
    }
  })
}

let asked = 0
/** A time to sleep that nobody else sleeps. */
const ownSleep = (): string => `${90_000 + process.pid}.${++asked}`

describe.each(SANDBOX_LEVELS)('level %s', (level) => {
  test(`CMD-07 N14: after a timeout nothing is left of a tree held by ${level}, in the group or out of it`, async () => {
    const sleep = ownSleep()
    const command = await held(
      level,
      `sleep ${sleep} & (sleep ${sleep} &) ; setsid sleep ${sleep} & setsid env -i sleep ${sleep} & wait`,
      { timeoutMs: 2500, killGraceMs: 300 },
    )
    const run = subprocess.run(command)
    await expect.poll(() => withWord(sleep).length, { timeout: 2400, interval: 20 }).toBeGreaterThanOrEqual(4)
    expect(await run).toMatchObject({ timed_out: true, return_code: -1 })
    expect(withWord(sleep)).toEqual([])
  })

  test(`P3: a program held by ${level} is asked to end first, and has its grace`, async () => {
    const sleep = ownSleep()
    const command = await held(level, `trap "echo tidy; exit 0" TERM; sleep ${sleep} & wait`)
    const cancel = new AbortController()
    const run = subprocess.run(command, cancel.signal)
    await expect.poll(() => withWord(sleep).length, { timeout: 10_000, interval: 20 }).toBe(1)
    cancel.abort()
    expect(await run).toMatchObject({ cancelled: true, stdout: 'tidy\n' })
  })

  test(`P2: what a program held by ${level} is given and gives back is the same`, async () => {
    const command = await held(level, 'cat; echo "$WORD" >&2; exit 7', { input: 'in', env: { WORD: 'out' } })
    expect(await subprocess.run(command)).toMatchObject({ stdout: 'in', stderr: 'out\n', return_code: 7 })
  })
})

test.each(SANDBOX_LEVELS)(
  'X8: what lies over a place stays there under %s, also for who is root inside',
  async (level) => {
    const folder = mkdtempSync(join(tmpdir(), 'kiwi-masked-'))
    writeFileSync(join(folder, 'key'), 'FOUND')
    const script = `umount ${folder}; umount -l ${folder}; unshare -Urm umount ${folder}; cat ${folder}/key; true`
    const command = await held(level, script)
    const { confinement } = command
    if (confinement === undefined) throw new TypeError('it is not held')
    const read = level === 'own' ? [] : [folder]
    const masked = { ...command, confinement: { ...confinement, read, masked: [folder] } }
    expect(await subprocess.run(masked)).toMatchObject({ success: true, stdout: '' })
    rmSync(folder, { recursive: true })
  },
)

describe('CMD-09: what runs away in a strict sandbox', () => {
  test('CMD-09 N14: it has bounds of memory and processes, and goes first when memory is short', async () => {
    const limits = await subprocess.run(
      await held('strict', 'cat /proc/self/limits /proc/self/oom_score_adj'),
    )
    expect(limits.stdout).toMatch(new RegExp(`Max data size +${LIMITS.sandboxMemoryBytes} `))
    expect(limits.stdout).toMatch(new RegExp(`Max processes +${LIMITS.sandboxProcesses} `))
    expect(limits.stdout).toMatch(/\n1000\n$/)
  })

  test('CMD-09: 20 GB are not to be had', async () => {
    const script = `exec ${process.execPath} -e 'console.log("BEGUN"); const kept = []; for (let n = 0; n < 40; n++) kept.push(Buffer.alloc(5e8)); console.log("HAD")'`
    const result = await subprocess.run(await held('strict', script, { timeoutMs: 15_000 }))
    expect(result).toMatchObject({ success: false, timed_out: false, stdout: 'BEGUN\n' })
  })

  test('CMD-09: while one forks without end, others are answered, and then nothing of it is left', async () => {
    const sleep = ownSleep()
    const bomb = await held(
      'strict',
      `n=0; while [ $n -lt 10000 ]; do sleep ${sleep} & n=$((n+1)); done; wait`,
      {
        killGraceMs: 100,
      },
    )
    const cancel = new AbortController()
    const run = subprocess.run(bomb, cancel.signal)
    await expect.poll(() => withWord(sleep).length, { timeout: 10_000, interval: 50 }).toBeGreaterThan(500)
    expect(await subprocess.run(shell('echo answered'))).toMatchObject({ stdout: 'answered\n' })
    cancel.abort()
    expect(await run).toMatchObject({ cancelled: true })
    await expect.poll(() => withWord(sleep).length, { timeout: 5000 }).toBe(0)
  })
})
