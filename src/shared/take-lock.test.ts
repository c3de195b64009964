import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { OWN_PROCESS, tagText } from './own-process.ts'
import { takeLock } from './take-lock.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-lock-'))
  file = join(folder, 'place', 'lock')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Tries a few times, then goes away: the number of waits, or what was taken. */
async function attempt(isDone = (): boolean => false): Promise<'taken' | 'not needed' | 'waited'> {
  const leave = new AbortController()
  const wait = { clock: systemClock, isDone, longestMs: 60_000, signal: leave.signal }
  try {
    const release = await takeLock(file, { ...wait, onWait: () => leave.abort() })
    return release === null ? 'not needed' : 'taken'
  } catch {
    return 'waited'
  }
}

describe('C10: one process builds at a time', () => {
  test('the lock is made with its folder, waited for, and gone when it is released', async () => {
    const release = await takeLock(file, {
      clock: systemClock,
      signal: new AbortController().signal,
      isDone: () => false,
      onWait: () => undefined,
      longestMs: 1000,
    })
    expect(await attempt()).toBe('waited')
    await release?.()
    expect(existsSync(file)).toBe(false)
    expect(await attempt()).toBe('taken')
  })

  test('nobody takes it for what is done already', async () => {
    expect(await attempt(() => true)).toBe('not needed')
    expect(existsSync(file)).toBe(false)
  })

  test.each([
    ['a dead process of this machine', { pid: 999_999_999 }, 0, 'taken'],
    ['a process before the last start of the machine', { boot: 'other' }, 0, 'taken'],
    ['another machine, a moment ago', { host: 'call' }, 0, 'waited'],
    ['another machine, longer ago than a build can take', { host: 'call' }, 120, 'taken'],
    ['this very process', {}, 120, 'waited'],
  ])('left by %s', async (_who, tag, seconds, end) => {
    expect(await attempt()).toBe('taken')
    writeFileSync(file, tagText({ ...OWN_PROCESS, ...tag }))
    const at = Date.now() / 1000 - seconds
    utimesSync(file, at, at)
    expect(await attempt()).toBe(end)
  })

  test('one that says nothing is being written, unless it has said nothing for long', async () => {
    expect(await attempt()).toBe('taken')
    writeFileSync(file, '')
    expect(await attempt()).toBe('waited')
    utimesSync(file, 1, 1)
    expect(await attempt()).toBe('taken')
  })
})
