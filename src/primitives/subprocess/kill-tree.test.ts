import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../shared/clock.ts'
import type { CommandResult } from './command.ts'
import { UNTIL_LEFT, createReady, isAlive, isZombie, pidsIn, shell } from '../../../test/fixtures/probe.ts'
import type { Subprocess } from './subprocess.ts'
import { openSubprocess } from './subprocess.ts'

let subprocess: Subprocess
beforeAll(() => {
  subprocess = openSubprocess({ clock: systemClock })
})
afterAll(() => subprocess.close())

/** Prints the pids of a child and an orphan in the group, of one that leaves it, and its own as the last. */
const TREE = 'sleep 999 & echo $!; (sleep 999 & echo $!); setsid sleep 999 & echo $!; echo $$;'

/** Cancels when the script stands; that goes the way of a timeout. */
const cancelled = async (script: string, killGraceMs = 300): Promise<CommandResult> => {
  const { env, ready } = createReady()
  const cancel = new AbortController()
  const run = subprocess.run(shell(script, { env, killGraceMs }), cancel.signal)
  await ready()
  cancel.abort()
  const result = await run
  expect(result).toMatchObject({ cancelled: true, return_code: -1 })
  return result
}

describe.skipIf(process.platform !== 'linux')('on Linux', () => {
  test('CMD-07 P3: after a timeout no descendant lives, in the group or out of it', async () => {
    const result = await subprocess.run(shell(`${TREE} wait`, { timeoutMs: 1500, killGraceMs: 300 }))
    expect(result).toMatchObject({ timed_out: true, return_code: -1 })
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(4)
    expect(pids.filter(isAlive)).toEqual([])
    // The last is our own child; the others are looked after by the system.
    expect(pids.slice(-1).filter(isZombie), 'zombies of ours').toEqual([])
  })

  test('CMD-07 P3: the same for those that ignore TERM and let go of the pipes', async () => {
    const deaf = `trap "" TERM; sleep 999 >/dev/null 2>&1 & echo $!; setsid sleep 999 >/dev/null 2>&1 & echo $!; echo $$;`
    const result = await cancelled(`${deaf} : >$READY; while :; do sleep 0.05; done`)
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(3)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('CMD-07: one that left the group and dropped its environment is found through its parents', async () => {
    const result = await cancelled('env -i setsid sleep 999 & echo $!; echo $$; : >$READY; wait')
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(2)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('CMD-07: an orphan without group or mark is found by the pipe it holds', async () => {
    const result = await cancelled('(env -i setsid sleep 999 & echo $!); : >$READY; sleep 60')
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(1)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('CMD-07: who holds the pipe of one child is not ended with another', async () => {
    const { env, ready } = createReady()
    const cancel = new AbortController()
    const other = subprocess.run(
      shell('env -i setsid sleep 999 & echo $!; : >$READY; wait', { env }),
      cancel.signal,
    )
    await ready()
    await subprocess.run(shell('(env -i setsid sleep 999 &)'))
    expect(await Promise.race([other, Promise.resolve('still there')])).toBe('still there')
    cancel.abort()
    expect(pidsIn((await other).stdout).filter(isAlive)).toEqual([])
  })

  test('CMD-07: one that left the group and was orphaned is found by its mark', async () => {
    const result = await cancelled('(setsid sleep 999 & echo $!); : >$READY; sleep 60')
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(1)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('CMD-07: a child that ends by itself leaves none behind that hold its output', async () => {
    const result = await subprocess.run(shell(`${TREE} exit 3`))
    expect(result).toMatchObject({ return_code: 3, timed_out: false, cancelled: false })
    const pids = pidsIn(result.stdout)
    expect(pids).toHaveLength(4)
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('CMD-07: nor any of its group that let go of the output', async () => {
    const result = await subprocess.run(shell('sleep 999 >/dev/null 2>&1 & echo $!; exit 0'))
    expect(result).toMatchObject({ success: true })
    expect(pidsIn(result.stdout).filter(isAlive)).toEqual([])
  })

  test('CMD-07: what left both the group and the output lives on, until Kiwi ends', async () => {
    const own = openSubprocess({ clock: systemClock })
    const result = await own.run(
      shell(`setsid sleep 999 </dev/null >/dev/null 2>&1 & ${UNTIL_LEFT} echo $!; exit 0`),
    )
    expect(result).toMatchObject({ success: true })
    const [server = 0] = pidsIn(result.stdout)
    expect(isAlive(server)).toBe(true)
    await own.close()
    expect(isAlive(server)).toBe(false)
  })

  test('P2, CMD-07: a run does not hang on a process that hid and holds its output, and ends it', async () => {
    const { env, ready } = createReady()
    // It lives until we have seen it: of one that is gone by then no pipes are known.
    const wait = ': >$READY; while [ -e $READY ]; do sleep 0.02; done'
    const script = `(env -i setsid sleep 30 & ${UNTIL_LEFT} echo $!); ${wait}; exit 5`
    const run = subprocess.run(shell(script, { env }))
    await ready()
    const result = await run
    expect(result).toMatchObject({ return_code: 5, timed_out: false })
    const [hidden = 0] = pidsIn(result.stdout)
    expect(isAlive(hidden)).toBe(false)
  })

  test('CMD-07: one that shed group, parent, mark and output cannot be known as ours: only a sandbox ends it', async () => {
    const result = await subprocess.run(
      shell(`(env -i setsid sleep 30 </dev/null >/dev/null 2>&1 & ${UNTIL_LEFT} echo $!); exit 5`),
    )
    const [hidden = 0] = pidsIn(result.stdout)
    expect(isAlive(hidden)).toBe(true)
    process.kill(hidden, 'SIGKILL')
  })

  test('CMD-07: ending one run leaves the others alone', async () => {
    const { session } = await subprocess.open(
      shell('sleep 999 & echo $!; setsid sleep 999 & echo $!; exec cat'),
    )
    const others: number[] = []
    for await (const line of session?.lines ?? []) if (others.push(Number(line)) === 2) break
    await cancelled(`${TREE} : >$READY; wait`)
    expect(others).toHaveLength(2)
    expect(others.filter(isAlive)).toEqual(others)
    await session?.close()
  })

  test('CMD-07: many that end at once leave none', async () => {
    const runs = Array.from({ length: 12 }, () => cancelled(`${TREE} : >$READY; wait`))
    const results = await Promise.all(runs)
    const pids = results.flatMap(({ stdout }) => pidsIn(stdout))
    expect(pids.length).toBe(48)
    expect(pids.filter(isAlive)).toEqual([])
  })
})

test('P2: what a background child still writes soon after the exit is kept', async () => {
  expect(await subprocess.run(shell('(sleep 0.01; echo late) & exit 0'))).toMatchObject({
    success: true,
    stdout: 'late\n',
  })
})

test('P1: a descendant that cleans up on TERM gets the grace, even after its parent went', async () => {
  const cleaner = `trap 'sleep 0.2; echo cleaned; exit' TERM; : >$READY; while :; do sleep 0.02; done`
  const result = await cancelled(`echo up; sh -c "${cleaner}" & wait`, 5000)
  expect(result.stdout).toBe('up\ncleaned\n')
})
