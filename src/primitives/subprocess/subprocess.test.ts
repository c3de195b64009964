import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEnvironment } from '../../config/environment.ts'
import { systemClock } from '../../shared/clock.ts'
import {
  ENVIRONMENT,
  command,
  createReady,
  isAlive,
  isZombie,
  pidsIn,
  shell,
} from '../../../test/fixtures/probe.ts'
import type { Subprocess } from './subprocess.ts'
import { openSubprocess } from './subprocess.ts'

const NODE = process.execPath
let subprocess: Subprocess
let folder = ''

beforeAll(() => {
  subprocess = openSubprocess({ clock: systemClock })
  folder = mkdtempSync(join(tmpdir(), 'kiwi-subprocess-'))
})
afterAll(async () => {
  await subprocess.close()
  rmSync(folder, { recursive: true, force: true })
})

test('P2: a run gives output, return code and duration', async () => {
  const result = await subprocess.run(shell('echo out; echo err >&2; exit 3'))
  expect(result).toEqual({
    success: false,
    stdout: 'out\n',
    stderr: 'err\n',
    return_code: 3,
    duration_ms: expect.any(Number),
    signal: null,
    truncated: false,
    timed_out: false,
    cancelled: false,
    failure: null,
  })
})

test('P2: success is the return code 0', async () => {
  expect(await subprocess.run(command('/bin/echo', ['hello']))).toMatchObject({
    success: true,
    stdout: 'hello\n',
    return_code: 0,
  })
})

test('P2: a child that a signal ended has return code -1 and the signal', async () => {
  expect(await subprocess.run(shell('kill -SEGV $$'))).toMatchObject({
    success: false,
    return_code: -1,
    signal: 'SIGSEGV',
    timed_out: false,
  })
})

test('P1: without a command the result says so', async () => {
  expect(await subprocess.run(command(''))).toMatchObject({
    success: false,
    return_code: -1,
    stderr: "Missing 'command'",
    failure: 'missing_command',
  })
})

test('P2: a program that is not there is a result', async () => {
  for (const name of ['no-such-program', '/no/such/program', './no-such-program', '/bin/sh/below-a-file']) {
    expect(await subprocess.run(command(name))).toMatchObject({
      return_code: -1,
      stderr: `Command not found: ${name}`,
      failure: 'not_found',
    })
  }
})

test('P2: a file that may not be executed is a result', async () => {
  const file = join(folder, 'plain')
  writeFileSync(file, 'text')
  chmodSync(file, 0o644)
  for (const name of [file, './plain', folder]) {
    expect(await subprocess.run(command(name, [], { cwd: folder }))).toMatchObject({
      return_code: -1,
      stderr: `Permission denied: ${name}`,
      failure: 'not_executable',
    })
  }
})

test('P2: a script whose interpreter is missing says so', async () => {
  const file = join(folder, 'script')
  writeFileSync(file, '#!/no/such/interpreter\n')
  chmodSync(file, 0o755)
  const result = await subprocess.run(command(file))
  expect(result).toMatchObject({ failure: 'not_found', return_code: -1 })
  expect(result.stderr).toBe(`Command not found: ${file} (its interpreter is missing)`)
})

test('P2: a missing working folder is not taken for a missing program', async () => {
  writeFileSync(join(folder, 'file'), '')
  const missing = join(folder, 'missing')
  expect(await subprocess.run(command('/bin/true', [], { cwd: missing }))).toMatchObject({
    return_code: -1,
    stderr: `Folder not found: ${missing}`,
    failure: 'bad_folder',
  })
  expect(await subprocess.run(command('/bin/true', [], { cwd: join(folder, 'file') }))).toMatchObject({
    stderr: `Not a folder: ${join(folder, 'file')}`,
    failure: 'bad_folder',
  })
  expect(await subprocess.run(command('/bin/true', [], { cwd: '' }))).toMatchObject({ failure: 'bad_folder' })
})

test('P2: NUL bytes are refused without showing the value', async () => {
  const cases = [
    command('/bin/tr\0ue'),
    command('/bin/echo', ['se\0cret']),
    command('/bin/echo', [], { env: { KEY: 'se\0cret' } }),
    command('/bin/echo', [], { env: { 'KEY\0': 'secret' } }),
    command('/bin/echo', [], { cwd: '/tmp\0' }),
  ]
  for (const each of cases) {
    const result = await subprocess.run(each)
    expect(result).toMatchObject({ return_code: -1, failure: 'not_started' })
    expect(result.stderr).toContain('NUL byte')
    expect(result.stderr).not.toContain('cret')
  }
})

test('P2: arguments that are too large for the system are a result', async () => {
  const result = await subprocess.run(command('/bin/true', ['x'.repeat(4 * 1024 * 1024)]))
  expect(result).toMatchObject({ return_code: -1, failure: 'not_started' })
  expect(result.stderr).toContain('too large')
})

test('CMD-01: every argument arrives as one, and no shell reads it', async () => {
  const args = ['x; touch PWNED', '$(id)', '`id`', '|', '\n', '', '*', '&& touch PWNED', '--', '-e', '"\'\\']
  const script = join(folder, 'print.cjs')
  writeFileSync(script, 'process.stdout.write(JSON.stringify(process.argv.slice(2)))')
  const result = await subprocess.run(command(NODE, [script, ...args], { cwd: folder }))
  expect(JSON.parse(result.stdout)).toEqual(args)
  expect(existsSync(join(folder, 'PWNED'))).toBe(false)
  const asCommand = await subprocess.run(command('/bin/echo; touch PWNED', [], { cwd: folder }))
  expect(asCommand.failure).toBe('not_found')
  expect(existsSync(join(folder, 'PWNED'))).toBe(false)
})

test('ENV-06 P4 N1: the child sees what it was given and the mark, nothing of ours', async () => {
  expect(Object.keys(readEnvironment()).length).toBeGreaterThan(2)
  const env = { ...ENVIRONMENT, KIWI_PARAM_EMAIL: 'a@b.c', ODD: ' a=b\n"ä ' }
  const script = 'process.stdout.write(JSON.stringify(process.env))'
  const seen: unknown = JSON.parse((await subprocess.run(command(NODE, ['-e', script], { env }))).stdout)
  expect(seen).toEqual({ ...env, KIWI_PROCESS: expect.stringMatching(/^[0-9a-f]{16}\.\d+$/) })
})

test('ENV-07: the name of a variable cannot carry another variable', async () => {
  for (const name of ['LD_PRELOAD=/evil.so', 'A=B', '']) {
    const result = await subprocess.run(command('/usr/bin/env', [], { env: { [name]: 'x' } }))
    expect(result).toMatchObject({ failure: 'not_started', return_code: -1 })
  }
  const env: Record<string, string> = JSON.parse('{"__proto__":"1","constructor":"2"}')
  const result = await subprocess.run(command('/usr/bin/env', [], { env }))
  expect(result.stdout).toContain('__proto__=1\n')
  expect(result.stdout).toContain('constructor=2\n')
})

test('P1: the child runs in its working folder', async () => {
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  expect((await subprocess.run(shell('pwd -P', { cwd: inner }))).stdout).toBe(`${inner}\n`)
})

test('P1: input arrives whole and ends; without input there is nothing to read', async () => {
  const text = 'ä€\n'.repeat(500_000)
  expect((await subprocess.run(command('/bin/cat', [], { input: text }))).stdout).toBe(text)
  const bytes = Uint8Array.of(104, 105)
  expect((await subprocess.run(command('/bin/cat', [], { input: bytes }))).stdout).toBe('hi')
  expect(await subprocess.run(command('/bin/cat', [], { input: '' }))).toMatchObject({
    success: true,
    stdout: '',
  })
  expect(await subprocess.run(command('/bin/cat'))).toMatchObject({ success: true, stdout: '' })
})

test('P1: a child need not read its input', async () => {
  const input = 'x'.repeat(1024 * 1024)
  expect(await subprocess.run(shell('exit 0', { input }))).toMatchObject({ success: true, return_code: 0 })
  expect(await subprocess.run(shell('exec 0<&-; sleep 0.1; echo done', { input }))).toMatchObject({
    success: true,
    stdout: 'done\n',
  })
})

test('P1: without capture_output the child may talk, and nothing is kept', async () => {
  const script = 'head -c 1000000 /dev/zero; echo err >&2; exit 4'
  expect(await subprocess.run(shell(script, { captureOutput: false }))).toMatchObject({
    stdout: '',
    stderr: '',
    return_code: 4,
    truncated: false,
  })
})

test('P2: bytes that are no text become replacement characters', async () => {
  expect((await subprocess.run(shell(String.raw`printf 'a\377b'`))).stdout).toBe('a\uFFFDb')
})

test('N14: output over the cap keeps its beginning, for each stream by itself', async () => {
  const script = 'printf 1234567890; printf abc >&2; exit 5'
  expect(await subprocess.run(shell(script, { maxOutputBytes: 4 }))).toMatchObject({
    stdout: '1234',
    stderr: 'abc',
    truncated: true,
    return_code: 5,
  })
  expect(await subprocess.run(shell(script, { maxOutputBytes: 10 }))).toMatchObject({
    stdout: '1234567890',
    truncated: false,
  })
  expect(await subprocess.run(shell(script, { maxOutputBytes: 0 }))).toMatchObject({
    stdout: '',
    stderr: '',
    truncated: true,
    return_code: 5,
  })
})

test('N14: the cap does not cut a character in two', async () => {
  expect(await subprocess.run(shell('printf aä€', { maxOutputBytes: 5 }))).toMatchObject({
    stdout: 'aä',
    truncated: true,
  })
})

test('N14: 10 MB of output are capped at 8 MB, and the child ends by itself', async () => {
  const result = await subprocess.run(shell('head -c 10485760 /dev/zero | tr "\\0" x; exit 7'))
  expect(result).toMatchObject({ truncated: true, return_code: 7, signal: null })
  expect(result.stdout).toBe('x'.repeat(8 * 1024 * 1024))
})

test('P2: a timeout is a result that keeps the output so far', async () => {
  const result = await subprocess.run(shell('echo out; echo err >&2; sleep 60', { timeoutMs: 1000 }))
  expect(result).toMatchObject({
    success: false,
    stdout: 'out\n',
    stderr: 'err\nProcess timed out after 1 s',
    return_code: -1,
    timed_out: true,
    cancelled: false,
    signal: 'SIGTERM',
    failure: null,
  })
})

test('P1: after a timeout the child may end by itself within the grace', async () => {
  const script = 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done'
  expect(await subprocess.run(shell(script, { timeoutMs: 1000 }))).toMatchObject({
    success: false,
    stdout: 'up\nbye\n',
    return_code: -1,
    timed_out: true,
  })
})

test('P1: a child that ignores TERM is killed after the grace', async () => {
  const script = 'trap "" TERM; echo $$; while :; do sleep 0.05; done'
  const result = await subprocess.run(shell(script, { timeoutMs: 1000, killGraceMs: 100 }))
  expect(result).toMatchObject({ timed_out: true, signal: 'SIGKILL', return_code: -1 })
  expect(pidsIn(result.stdout).filter(isAlive)).toEqual([])
})

test('P1: a timeout longer than any timer is no timeout at once', async () => {
  expect(await subprocess.run(shell('sleep 0.05', { timeoutMs: Infinity }))).toMatchObject({ success: true })
})

test('P3: a cancel ends the child like a timeout does', async () => {
  const cancel = new AbortController()
  const { env, ready } = createReady()
  const run = subprocess.run(shell('sleep 60 & echo $!; echo $$; : >$READY; wait', { env }), cancel.signal)
  await ready()
  cancel.abort()
  const result = await run
  expect(result).toMatchObject({
    success: false,
    cancelled: true,
    timed_out: false,
    return_code: -1,
    stderr: 'Process cancelled',
  })
  const pids = pidsIn(result.stdout)
  expect(pids).toHaveLength(2)
  expect(pids.filter(isAlive)).toEqual([])
})

test('P3: what is cancelled before it starts is not started', async () => {
  const file = join(folder, 'never')
  const result = await subprocess.run(command('/usr/bin/touch', [file]), AbortSignal.abort())
  expect(result).toMatchObject({ cancelled: true, return_code: -1, failure: null })
  expect(existsSync(file)).toBe(false)
})

test('N14: 200 runs at once are all right, and no zombie is left', async () => {
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) => subprocess.run(shell(`echo $$; echo n${i}`))),
  )
  const lines = results.map(({ stdout }) => stdout.split('\n'))
  expect(lines.map(([, name]) => name)).toEqual(results.map((_, i) => `n${i}`))
  expect(lines.map(([pid]) => Number(pid)).filter(isZombie)).toEqual([])
})

test('N14: never more children at once than allowed, and beyond the waiting room overloaded', async () => {
  const small = openSubprocess({ clock: systemClock, maxChildren: 2, maxWaiting: 3 })
  const room = join(folder, 'room')
  mkdirSync(room)
  // Each one counts who is there with it.
  const script = `mkdir ${room}/$$; ls ${room} | wc -l; sleep 0.05; rmdir ${room}/$$`
  const results = await Promise.all(Array.from({ length: 7 }, () => small.run(shell(script))))
  const done = results.filter(({ success }) => success)
  expect(done).toHaveLength(5)
  expect(Math.max(...done.map(({ stdout }) => Number(stdout)))).toBeLessThanOrEqual(2)
  for (const refused of results.slice(5)) {
    expect(refused).toMatchObject({ failure: 'overloaded', return_code: -1, success: false })
  }
  expect(await small.run(shell('exit 0'))).toMatchObject({ success: true })
  await small.close()
})

test('N14: a run that waits can be cancelled, and its timeout only starts with its child', async () => {
  const small = openSubprocess({ clock: systemClock, maxChildren: 1 })
  const first = small.run(shell('sleep 1'))
  const cancel = new AbortController()
  const file = join(folder, 'waiting')
  const second = small.run(command('/usr/bin/touch', [file]), cancel.signal)
  const third = small.run(shell('echo third', { timeoutMs: 900 }))
  setTimeout(() => cancel.abort(), 50)
  expect(await second).toMatchObject({
    cancelled: true,
    failure: null,
    stderr: 'Cancelled before it started',
  })
  expect(await first).toMatchObject({ success: true })
  expect(await third).toMatchObject({ success: true, stdout: 'third\n' })
  expect(existsSync(file)).toBe(false)
  await small.close()
})

test('P3: closing ends those that run, turns away those that wait and those that come', async () => {
  const small = openSubprocess({ clock: systemClock, maxChildren: 1 })
  const { env, ready } = createReady()
  const deaf = 'trap "" TERM; echo $$; : >$READY; while :; do sleep 0.05; done'
  const running = small.run(shell(deaf, { env, killGraceMs: 60_000 }))
  const waiting = small.run(shell('echo never'))
  await ready()
  await small.close()
  const result = await running
  expect(result).toMatchObject({ cancelled: true, signal: 'SIGKILL' })
  expect(pidsIn(result.stdout).filter(isAlive)).toEqual([])
  expect(await waiting).toMatchObject({ failure: 'not_started' })
  expect(await small.run(shell('echo never'))).toMatchObject({ failure: 'not_started', stdout: '' })
})

test('P3: a run that was asked for just before the closing does not outlive it', async () => {
  const small = openSubprocess({ clock: systemClock })
  const run = small.run(shell('sleep 60'))
  await small.close()
  expect(await run).toMatchObject({ success: false, return_code: -1 })
})

test('P1: find gives the absolute path of a program', () => {
  expect(subprocess.find('sh', '/no/such/folder:/bin')).toBe('/bin/sh')
  expect(subprocess.find('no-such-program', '/bin')).toBeNull()
})
