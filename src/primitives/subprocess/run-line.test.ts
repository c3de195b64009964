import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEnvironment } from '../../config/environment.ts'
import { systemClock } from '../../shared/clock.ts'
import type { Program } from './command.ts'
import type { LineCommand, LineResult } from './run-line.ts'
import type { Subprocess } from './subprocess.ts'
import { openSubprocess } from './subprocess.ts'

let subprocess: Subprocess
beforeEach(() => {
  subprocess = openSubprocess({ clock: systemClock })
})
afterEach(() => subprocess.close())

const { PATH = '' } = readEnvironment()

function program(command: string, ...args: readonly string[]): Program {
  return { command, args, env: { PATH }, cwd: '/' }
}

const sh = (script: string): Program => program('/bin/sh', '-c', script)
const node = (script: string): Program => program(process.execPath, '-e', script)

function run(
  steps: LineCommand['steps'],
  more: Partial<LineCommand> = {},
  signal?: AbortSignal,
): Promise<LineResult> {
  const terms = {
    input: null,
    timeoutMs: 20_000,
    killGraceMs: 100,
    maxOutputBytes: 1_000_000,
    captureOutput: true,
  }
  return subprocess.runLine({ ...terms, steps, ...more }, signal)
}

const pipe = (...programs: readonly Program[]): Promise<LineResult> => run([{ joint: ';', programs }])

test('H5: 30 MB go through a pipeline byte for byte', async () => {
  const result = await pipe(
    node('process.stdout.write(Buffer.alloc(30_000_000, Buffer.from([0, 255, 10, 13])))'),
    sh('cat'),
    node(
      "const h = require('crypto').createHash('sha256'); process.stdin.on('data', (d) => h.update(d)).on('end', () => console.log(h.digest('hex')))",
    ),
  )
  const { createHash } = await import('node:crypto')
  const expected = createHash('sha256')
    .update(Buffer.alloc(30_000_000, Buffer.from([0, 255, 10, 13])))
    .digest('hex')
  expect(result).toMatchObject({ stdout: `${expected}\n`, return_codes: [[0, 0, 0]] })
})

test('H5: a writer without end ends when its reader has gone', async () => {
  const result = await pipe(sh('yes'), sh('head -n 1'))
  expect(result).toMatchObject({ success: true, stdout: 'y\n', return_code: 0, timed_out: false })
})

test('H5: a slow reader still gets all that a program wrote before it exited', async () => {
  const result = await pipe(node("process.stdout.write('x'.repeat(300_000))"), sh('sleep 1; wc -c'))
  expect(result.stdout.trim()).toBe('300000')
})

test('H5: what a program leaves behind does not hold the pipe open', async () => {
  const result = await pipe(sh('sleep 300 & echo a'), sh('cat'))
  expect(result).toMatchObject({ success: true, stdout: 'a\n' })
})

test('CMD-07 H5: when the time is over, every process of every stage is gone', async () => {
  const loose = 'sleep 301 & setsid sleep 302 & echo $$ >&2; sleep 303'
  const result = await run(
    [
      { joint: ';', programs: [sh('true')] },
      { joint: '&&', programs: [sh(loose), sh(loose)] },
      { joint: ';', programs: [sh('echo never')] },
    ],
    { timeoutMs: 700 },
  )
  expect(result).toMatchObject({ timed_out: true, stdout: '', return_codes: [[0], [-1, -1], null] })
  expect(result.stderr).toContain('Process timed out after 0.7 s')
  const pids = result.stderr.split('\n').filter((line) => /^\d+$/.test(line))
  expect(pids).toHaveLength(2)
  for (const pid of pids)
    expect(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').length > 0).toThrow('ENOENT')
})

test('H5: a cancelled line starts nothing more', async () => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 200)
  const result = await run(
    [
      { joint: ';', programs: [sh('sleep 30')] },
      { joint: ';', programs: [sh('echo never')] },
    ],
    {},
    stop.signal,
  )
  expect(result).toMatchObject({ cancelled: true, stdout: '', return_codes: [[-1], null] })
})

test('H5: a program that cannot be started ends those before it', async () => {
  const result = await pipe(sh('sleep 30'), program('/nowhere/at-all'))
  expect(result).toMatchObject({ success: false, failure: 'not_found' })
})

test('N14: the output of a whole line keeps one cap', async () => {
  const step = { joint: ';', programs: [sh('printf 123456')] } as const
  expect(await run([step, step, step], { maxOutputBytes: 8 })).toMatchObject({
    stdout: '12345612',
    truncated: true,
  })
})

test('CMD-04: a program whose guard does not pass is not started', async () => {
  const guard = (script: string, failsOn: string | null = null, only: readonly string[] | null = null) => ({
    program: sh(script),
    passesWith: 1,
    failsOn,
    only,
    reason: 'it may not',
  })
  const guarded = (...guards: readonly ReturnType<typeof guard>[]): Promise<LineResult> =>
    pipe({ ...sh('echo started'), guards })
  expect(await guarded(guard('exit 1'))).toMatchObject({ stdout: 'started\n' })
  expect(await guarded(guard('exit 1'), guard('echo a; echo b'))).toMatchObject({
    failure: 'guarded',
    stdout: '',
    stderr: 'it may not: a, b',
  })
  expect(await guarded(guard('echo 160000; exit 1', '160000'))).toMatchObject({ failure: 'guarded' })
  expect(await guarded(guard('exit 2'))).toMatchObject({ failure: 'guarded', stderr: 'it may not' })
  const listing = 'echo a.b; echo a.c; echo xa.bx; exit 1'
  expect(await guarded(guard(listing, null, ['a\\.b', 'a\\.c']))).toMatchObject({
    failure: 'guarded',
    stderr: 'it may not: xa.bx',
  })
  expect(await guarded(guard(listing, null, ['.*a\\..*']))).toMatchObject({ stdout: 'started\n' })
})
