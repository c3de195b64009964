/** For tests: what the processes of this machine look like from outside. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from './command.ts'

export const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin' }
export const FIXTURES = join(import.meta.dirname, '../../test/fixtures')

/** A command with the defaults of a manifest. */
export function command(program: string, args: readonly string[] = [], more: Partial<Command> = {}): Command {
  return {
    command: program,
    args,
    env: ENVIRONMENT,
    cwd: tmpdir(),
    input: null,
    timeoutMs: 300_000,
    killGraceMs: 5000,
    maxOutputBytes: 8 * 1024 * 1024,
    captureOutput: true,
    ...more,
  }
}

export const shell = (script: string, more: Partial<Command> = {}): Command =>
  command('/bin/sh', ['-c', script], more)

/** A file that a script makes with `: >$READY` when it stands, and what waits for it. */
export function createReady(): { env: Record<string, string>; ready: () => Promise<void> } {
  const file = join(tmpdir(), `kiwi-ready-${randomUUID()}`)
  return {
    env: { ...ENVIRONMENT, READY: file },
    async ready() {
      while (!existsSync(file)) await delay(10)
      rmSync(file)
    },
  }
}

/** A zombie does not live. */
export function isAlive(pid: number): boolean {
  const [state] = stat(pid)
  return state !== undefined && state !== 'Z'
}

/** Exited, and its parent has not looked after it. */
export function isZombie(pid: number): boolean {
  return stat(pid)[0] === 'Z'
}

/** The numbers that a script printed, one on a line. */
export function pidsIn(text: string): readonly number[] {
  return text.split('\n').filter(Boolean).map(Number)
}

/** From the state on. */
function stat(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
