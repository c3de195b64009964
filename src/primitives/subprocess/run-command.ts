import type { Clock } from '../../shared/clock.ts'
import { capture, discard } from './capture.ts'
import type { Command, CommandResult, NotStarted } from './command.ts'
import { notRun } from './command.ts'
import type { KillTree } from './kill-tree.ts'
import type { Child } from './start-child.ts'

export interface RunMeans {
  readonly clock: Clock
  readonly killTree: KillTree
  readonly start: (command: Command, stdin: 'pipe' | 'ignore') => Promise<Child | NotStarted>
  readonly release: (child: Child) => void
  /** Cancels every run. */
  readonly closing: AbortSignal
}

/** A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * One child from its start to its end. When this is done, nothing is left of a child that was ended. One that ended
 * by itself may leave what went to another group and let go of its pipes: that lives until we close, since looking
 * for it would cost every run milliseconds.
 */
export async function runCommand(
  command: Command,
  means: RunMeans,
  signal?: AbortSignal,
): Promise<CommandResult> {
  const { clock, killTree } = means
  const { input, captureOutput, maxOutputBytes } = command
  const startedAt = clock.monotonic()
  const child = await means.start(command, input === null ? 'ignore' : 'pipe')
  if ('failure' in child) return notRun(child)

  const stdout = captureOutput ? capture(child.stdout, maxOutputBytes) : discard(child.stdout)
  const stderr = captureOutput ? capture(child.stderr, maxOutputBytes) : discard(child.stderr)
  if (input !== null) child.stdin?.end(input)

  const ending = await endingOf(child, command.timeoutMs, [means.closing, ...(signal ? [signal] : [])])
  await (ending === 'exited' ? killTree.clear(child) : killTree.stop(child, command.killGraceMs))
  means.release(child)
  const exit = await child.exited
  const returnCode = ending === 'exited' ? (exit.code ?? -1) : -1
  return {
    success: returnCode === 0,
    stdout: stdout.text(),
    stderr: withNote(stderr.text(), noteOf(ending, command.timeoutMs)),
    return_code: returnCode,
    duration_ms: Math.round(clock.monotonic() - startedAt),
    signal: exit.signal,
    truncated: stdout.isTruncated || stderr.isTruncated,
    timed_out: ending === 'timed_out',
    cancelled: ending === 'cancelled',
    failure: null,
  }
}

type Ending = 'exited' | 'timed_out' | 'cancelled'

function endingOf(child: Child, timeoutMs: number, signals: readonly AbortSignal[]): Promise<Ending> {
  return new Promise((resolve) => {
    const settle = (ending: Ending): void => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', cancel)
      resolve(ending)
    }
    const cancel = (): void => settle('cancelled')
    const timer = setTimeout(settle, Math.min(timeoutMs, LONGEST_TIMER_MS), 'timed_out')
    for (const signal of signals) signal.addEventListener('abort', cancel)
    if (signals.some(({ aborted }) => aborted)) cancel()
    void child.exited.then(() => settle('exited'))
  })
}

function noteOf(ending: Ending, timeoutMs: number): string {
  if (ending === 'timed_out') return `Process timed out after ${timeoutMs / 1000} s`
  return ending === 'cancelled' ? 'Process cancelled' : ''
}

function withNote(text: string, note: string): string {
  return note === '' || text === '' || text.endsWith('\n') ? text + note : `${text}\n${note}`
}
