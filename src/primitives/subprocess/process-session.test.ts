import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import { ENVIRONMENT, UNTIL_LEFT, isAlive } from '../../../test/fixtures/probe.ts'
import type { ProcessSession, SessionCommand } from './process-session.ts'
import type { Subprocess } from './subprocess.ts'
import { openSubprocess } from './subprocess.ts'

let subprocess: Subprocess
beforeAll(() => {
  subprocess = openSubprocess({ clock: systemClock })
})
afterAll(() => subprocess.close())

const program = (
  command: string,
  args: readonly string[],
  more: Partial<SessionCommand> = {},
): SessionCommand => ({
  command,
  args,
  env: ENVIRONMENT,
  cwd: '/',
  ...more,
})

const open = async (script: string, more: Partial<SessionCommand> = {}): Promise<ProcessSession> => {
  const { session } = await subprocess.open(program('/bin/sh', ['-c', script], more))
  if (session === null) throw new Error('not started')
  return session
}

const next = async (session: ProcessSession): Promise<string> => {
  for await (const line of session.lines) return line
  throw new Error('no more lines')
}

const rest = async (session: ProcessSession): Promise<string[]> => {
  const all: string[] = []
  for await (const line of session.lines) all.push(line)
  return all
}

test('P13: one child serves 1,000 messages in order', async () => {
  const session = await open('exec cat')
  for (let i = 0; i < 1000; i++) {
    await session.send(`{"id":${i}}`)
    expect(await next(session)).toBe(`{"id":${i}}`)
  }
  expect(await session.close()).toEqual({ return_code: 0, signal: null, failure: null })
})

test('P13: messages that are sent without waiting for answers come back in order', async () => {
  const session = await open('exec cat')
  const messages = Array.from({ length: 1000 }, (_, i) => `${i} ${'ä'.repeat(i)}`)
  const sending = Promise.all(messages.map((message) => session.send(message)))
  for (const message of messages) expect(await next(session)).toBe(message)
  await sending
  await session.close()
})

test('P13: send waits for a child that does not read', async () => {
  const session = await open('sleep 0.3; cat >/dev/null')
  const started = performance.now()
  let isKept = false
  const big = session.send('x'.repeat(4 * 1024 * 1024))
  void big.then(() => (isKept = true))
  await delay(50)
  expect(isKept).toBe(false)
  await big
  expect(performance.now() - started).toBeGreaterThan(200)
  await session.close()
})

test('P13: what a child does not read is bounded', async () => {
  const session = await open('exec sleep 999')
  const megabyte = 'x'.repeat(1024 * 1024)
  const sends = Array.from({ length: 40 }, () => session.send(megabyte))
  const ended = Promise.allSettled(sends)
  await expect(sends.at(-1)).rejects.toMatchObject({ code: 'OVERLOADED' })
  await session.close()
  expect((await ended).every(({ status }) => status === 'rejected')).toBe(true)
})

test('P13: a child that writes without end waits for its reader', async () => {
  const long = 'x'.repeat(2000)
  const session = await open(`i=0; while :; do i=$((i+1)); echo "$i ${long}"; echo "$i" >&2; done`)
  expect(await next(session)).toBe(`1 ${long}`)
  await expect
    .poll(async () => {
      const before = session.stderr().split('\n').at(-2)
      await delay(150)
      return session.stderr().split('\n').at(-2) === before
    })
    .toBe(true)
  expect(await next(session)).toBe(`2 ${long}`)
  process.kill(session.pid, 'SIGKILL')
  await session.close()
})

test('P13: stderr is kept apart', async () => {
  const session = await open('echo out; echo err >&2; exec cat')
  expect(await next(session)).toBe('out')
  await expect.poll(() => session.stderr()).toBe('err\n')
  await session.close()
})

test('UP-11: a child that floods stderr is never blocked, and 64 kB of it are kept', async () => {
  const session = await open('head -c 20000000 /dev/zero | tr "\\0" e >&2; echo END >&2; echo done; exec cat')
  expect(await next(session)).toBe('done')
  await expect.poll(() => session.stderr().endsWith('END\n')).toBe(true)
  expect(session.stderr()).toHaveLength(64 * 1024)
  await session.close()
})

test('P13: a failed start is a typed answer', async () => {
  expect(await subprocess.open(program('no-such-program', []))).toEqual({
    session: null,
    failure: 'not_found',
    stderr: 'Command not found: no-such-program',
  })
  expect(await subprocess.open(program('', []))).toMatchObject({ session: null, failure: 'missing_command' })
  expect(await subprocess.open(program('/bin/cat', [], { cwd: '/no/such' }))).toMatchObject({
    session: null,
    failure: 'bad_folder',
  })
  expect(await subprocess.open(program('/bin/cat', []), AbortSignal.abort())).toMatchObject({
    session: null,
    failure: 'cancelled',
  })
})

test('P13: the end of a child is told after its last line', async () => {
  const session = await open('echo one; echo two; exit 7')
  expect(await rest(session)).toEqual(['one', 'two'])
  expect(await session.ended).toEqual({ return_code: 7, signal: null, failure: null })
})

test('P13: lines of a child that is gone can still be read', async () => {
  const session = await open('i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i+1)); done')
  await session.ended
  expect(await rest(session)).toEqual(Array.from({ length: 5000 }, (_, i) => String(i)))
})

test.skipIf(process.platform !== 'linux')(
  'P13: the lines end though a hidden process holds the pipe',
  async () => {
    const session = await open(`(env -i setsid sleep 30 & ${UNTIL_LEFT} echo $!)`)
    const [hidden] = await rest(session)
    expect(await session.ended).toMatchObject({ return_code: 0 })
    expect(isAlive(Number(hidden))).toBe(true)
    process.kill(Number(hidden), 'SIGKILL')
  },
)

test('P13: sending to a child that is gone fails', async () => {
  const session = await open('exit 0')
  await session.ended
  await expect(session.send('hello')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
})

test('P13: one that waits to send fails when the child dies', async () => {
  const session = await open('exec sleep 60')
  const sending = session.send('x'.repeat(4 * 1024 * 1024))
  process.kill(session.pid, 'SIGKILL')
  await expect(sending).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  expect(await session.ended).toMatchObject({ return_code: -1, signal: 'SIGKILL' })
})

test('P13: a message cannot hold a line break', async () => {
  const session = await open('exec cat')
  await expect(session.send('{"id":1}\n{"id":2}')).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  await session.close()
})

test('UP-04: a line over the limit closes the session', async () => {
  const session = await open('echo fine; head -c 5000 /dev/zero | tr "\\0" x; exec sleep 60', {
    maxLineBytes: 1000,
  })
  expect(await rest(session)).toEqual(['fine'])
  expect(await session.ended).toMatchObject({ return_code: -1, failure: 'message_too_large' })
  expect(isAlive(session.pid)).toBe(false)
})

test.concurrent('UP-12: a child that ignores the end of input and TERM is killed after 4 s', async () => {
  const session = await open('trap "" TERM; echo up; while :; do sleep 0.05; done')
  expect(await next(session)).toBe('up')
  const started = performance.now()
  expect(await session.close()).toEqual({ return_code: -1, signal: 'SIGKILL', failure: null })
  expect(performance.now() - started).toBeGreaterThan(3900)
  expect(isAlive(session.pid)).toBe(false)
})

test.concurrent('UP-12: a child that ignores only the end of input gets TERM', async () => {
  const session = await open('echo up; while :; do sleep 0.05; done')
  expect(await next(session)).toBe('up')
  const started = performance.now()
  expect(await session.close()).toMatchObject({ return_code: -1, signal: 'SIGTERM' })
  // Not before it had time to end by itself.
  expect(performance.now() - started).toBeGreaterThan(450)
})

test.skipIf(process.platform !== 'linux')('CMD-07: descendants of a session end with it', async () => {
  const session = await open('sleep 999 & echo $!; setsid sleep 999 >/dev/null 2>&1 & echo $!; exec cat')
  const pids = [Number(await next(session)), Number(await next(session))]
  expect(pids.filter(isAlive)).toEqual(pids)
  await session.close()
  expect(pids.filter(isAlive)).toEqual([])
})

test.concurrent('UP-12: closing everything gives the sessions the same two steps, all at once', async () => {
  const own = openSubprocess({ clock: systemClock, maxSessions: 2 })
  const deaf = program('/bin/sh', ['-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done'])
  const opened = [await own.open(deaf), await own.open(deaf)]
  expect(await own.open(deaf)).toMatchObject({ session: null, failure: 'overloaded' })
  for (const { session } of opened) if (session !== null) expect(await next(session)).toBe('up')
  const started = performance.now()
  await own.close()
  expect(performance.now() - started).toBeGreaterThan(3900)
  expect(opened.filter(({ session }) => session !== null && isAlive(session.pid))).toEqual([])
  expect(await own.open(deaf)).toMatchObject({ session: null, failure: 'not_started' })
})
