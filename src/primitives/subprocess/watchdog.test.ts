import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import { FIXTURES, command, isAlive, shell } from '../../../test/fixtures/probe.ts'
import { openSubprocess } from './subprocess.ts'

let folder = ''
let bundle = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-watchdog-'))
  bundle = join(folder, 'subprocess.mjs')
  const { build } = await import('rolldown')
  await build({
    input: join(import.meta.dirname, 'subprocess.ts'),
    platform: 'node',
    output: { file: bundle, format: 'esm' },
    logLevel: 'silent',
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const linux = describe.skipIf(process.platform !== 'linux')

linux('when Kiwi dies', () => {
  const cases = [
    ['SIGKILL', 'its first watchdog', 'keep'],
    ['SIGTERM', 'its first watchdog', 'keep'],
    ['SIGKILL', 'a second watchdog, after the first was killed', 'replace'],
  ] as const
  for (const [signal, watched, watchdog] of cases) {
    test(`P3: after ${signal} of Kiwi nothing it started lives on, thanks to ${watched}`, async () => {
      const fixture = join(FIXTURES, 'kiwi-with-children.mjs')
      const kiwi = spawn(process.execPath, [fixture, bundle, watchdog])
      const line = await new Promise<string>((resolve, reject) => {
        kiwi.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
        kiwi.stderr.once('data', (chunk: Buffer) => reject(new Error(chunk.toString())))
      })
      const told: number[] = JSON.parse(line)
      const children = childrenOf(kiwi.pid ?? 0)
      expect(told).toHaveLength(4)
      // The session, the run and the watchdog.
      expect(children).toHaveLength(3)
      const pids = [...new Set([...told, ...children])]
      expect(pids.filter((pid) => !isAlive(pid))).toEqual([])
      kiwi.kill(signal)
      await expect.poll(() => pids.filter(isAlive), { timeout: 5000 }).toEqual([])
    })
  }

  test('P3: the watchdog does not keep Kiwi from coming to its end, and goes with it', async () => {
    const subprocess = openSubprocess({ clock: systemClock })
    const fixture = join(FIXTURES, 'kiwi-that-is-done.mjs')
    const result = await subprocess.run(command(process.execPath, [fixture, bundle], { timeoutMs: 8000 }))
    expect(result).toMatchObject({ success: true, stdout: 'done\n', timed_out: false })
    await subprocess.close()
  })
})

linux('while Kiwi lives', () => {
  test('P3: many children have one watchdog, and it ends with the closing', async () => {
    const subprocess = openSubprocess({ clock: systemClock })
    await Promise.all([1, 2, 3].map(() => subprocess.run(shell('exit 0'))))
    const { stdout } = await subprocess.run(shell('echo $KIWI_PROCESS'))
    const pids = watchdogsOf(stdout.slice(0, stdout.indexOf('.')))
    expect(pids).toHaveLength(1)
    await subprocess.close()
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('P3: closing does not end what belongs to another', async () => {
    const one = openSubprocess({ clock: systemClock })
    const other = openSubprocess({ clock: systemClock })
    const run = other.run(shell('sleep 0.4; echo whole'))
    await one.run(shell('exit 0'))
    await one.close()
    expect(await run).toMatchObject({ success: true, stdout: 'whole\n' })
    await other.close()
  })
})

linux('in bounded memory', () => {
  const MB = 1024 * 1024

  test('P2 N14: 200 MB of stdout keep the cap, set truncated and leave memory flat', async () => {
    const measured = await measure('run')
    expect(measured).toMatchObject({ kept: MB, truncated: true, return_code: 0 })
    expect(measured['grown']).toBeLessThan(80 * MB)
  })

  test('UP-04: a line of 100 MB ends the session at 10 MB', async () => {
    const measured = await measure('session')
    expect(measured).toMatchObject({ lines: 0, failure: 'message_too_large', return_code: -1 })
    expect(measured['grown']).toBeLessThan(40 * MB)
  })

  test('N14: 200 runs at once that write 1 MB each stay in bounded memory', async () => {
    const measured = await measure('many')
    expect(measured).toMatchObject({ right: 200 })
    expect(measured['grown']).toBeLessThan(100 * MB)
  })
})

async function measure(what: string): Promise<Record<string, unknown>> {
  const subprocess = openSubprocess({ clock: systemClock })
  const fixture = join(FIXTURES, 'kiwi-with-output.mjs')
  const result = await subprocess.run(command(process.execPath, [fixture, bundle, what]))
  await subprocess.close()
  expect(result).toMatchObject({ stderr: '', return_code: 0 })
  return JSON.parse(result.stdout)
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
  return text.split(' ').filter(Boolean).map(Number)
}

function watchdogsOf(instance: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(
      (pid) => Number.isInteger(pid) && commandLine(pid).includes(`kiwi-watchdog\0KIWI_PROCESS=${instance}.`),
    )
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
