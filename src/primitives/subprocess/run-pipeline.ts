import type { Clock } from '../../shared/clock.ts'
import type { Stop } from '../../shared/stop.ts'
import { capture, discard } from './capture.ts'
import type { Command, CommandResult, NotStarted, Program } from './command.ts'
import { notRun } from './command.ts'
import type { KillTree } from './kill-tree.ts'
import type { Child } from './start-child.ts'

export interface RunMeans {
  readonly clock: Clock
  readonly killTree: KillTree
  readonly start: (program: Program, stdin: 'pipe' | 'ignore') => Promise<Child | NotStarted>
  readonly release: (child: Child) => void
  /** Cancels every run. */
  readonly closing: Stop
}

/** What holds for a run, whatever it starts. */
export type RunTerms = Omit<Command, keyof Program>

/** The result of the last program, and how each of them ended. */
export interface PipelineResult extends CommandResult {
  /** -1 for one that did not exit by itself. */
  readonly return_codes: readonly number[]
}

/** What ends a run before it ends by itself. */
interface Ends {
  readonly signal?: Stop | undefined
  /** What is left of the time, when it is not the first that uses it. */
  readonly leftMs?: number
}

/** A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Programs from their start to their end, each reading what the one before it writes. When this is done, nothing is
 * left of those that were ended. One that ended by itself may leave what went to another group and let go of its
 * pipes: that lives until we close, since looking for it would cost every run milliseconds.
 */
export async function runPipeline(
  programs: readonly Program[],
  terms: RunTerms,
  means: RunMeans,
  { signal, leftMs = terms.timeoutMs }: Ends = {},
): Promise<PipelineResult> {
  const { clock, killTree } = means
  const startedAt = clock.monotonic()
  const children =
    signal?.aborted === true ? CANCELLED : await startAll(programs, terms.input !== null, means, signal)
  if ('failure' in children) return { ...notRun(children), return_codes: [] }
  const output = captureAll(children, terms)
  const cleared = children.slice(0, -1).map((child) => clearAtExit(child, killTree))
  const ending = await endingOf(children, leftMs, [means.closing, ...(signal ? [signal] : [])])
  if (ending === 'exited') {
    await Promise.all([...cleared, ...children.slice(-1).map((last) => killTree.clear(last))])
  } else await Promise.all(children.map((child) => killTree.stop(child, terms.killGraceMs)))
  for (const child of children) means.release(child)
  const exits = await Promise.all(children.map(({ exited }) => exited))
  const codes = exits.map(({ code }) => (ending === 'exited' ? (code ?? -1) : -1))
  const returnCode = codes.at(-1) ?? -1
  return {
    success: returnCode === 0,
    stdout: output.stdout(),
    stderr: withNote(output.stderr(), noteOf(ending, terms.timeoutMs)),
    return_code: returnCode,
    return_codes: codes,
    duration_ms: Math.round(clock.monotonic() - startedAt),
    signal: exits.at(-1)?.signal ?? null,
    truncated: output.isTruncated(),
    timed_out: ending === 'timed_out',
    cancelled: ending === 'cancelled',
    failure: null,
  }
}

/** The input goes to the first; what the last one writes is the output, and what any writes to its stderr. */
function captureAll(children: readonly Child[], { input, captureOutput, maxOutputBytes }: RunTerms) {
  const keep = captureOutput ? capture : discard
  const outputs = children.slice(-1).map(({ stdout }) => keep(stdout, maxOutputBytes))
  const errors = children.map(({ stderr }) => keep(stderr, maxOutputBytes))
  if (input !== null) children[0]?.stdin?.end(input)
  return {
    stdout: () => outputs.map((output) => output.text()).join(''),
    stderr: () => errors.map((error) => error.text()).join(''),
    isTruncated: () => [...outputs, ...errors].some(({ isTruncated }) => isTruncated),
  }
}

const CANCELLED: NotStarted = { failure: 'cancelled', stderr: 'Cancelled before it started' }

/** All of them, or none: when one cannot be started, those before it are ended. */
async function startAll(
  programs: readonly Program[],
  hasInput: boolean,
  means: RunMeans,
  signal: Stop | undefined,
): Promise<readonly Child[] | NotStarted> {
  const { start, killTree, release } = means
  const children: Child[] = []
  for (const program of programs) {
    const before = children.at(-1)
    const stdin = before === undefined && !hasInput ? 'ignore' : 'pipe'
    const child = (await stoppedBy(program, means, signal)) ?? (await start(program, stdin))
    if ('failure' in child) {
      await Promise.all(children.map((started) => killTree.stop(started, 0)))
      for (const started of children) release(started)
      return child
    }
    if (before !== undefined) connect(before, child)
    children.push(child)
  }
  return children
}

const GUARD_TERMS: RunTerms = {
  input: null,
  timeoutMs: 10_000,
  killGraceMs: 0,
  maxOutputBytes: 8 * 1024 * 1024,
  captureOutput: true,
}
const SHOWN_CHARACTERS = 500

/** Looked at right before the start, so that no earlier program of a line can change what the guards saw. */
async function stoppedBy(
  { guards = [] }: Program,
  means: RunMeans,
  signal: Stop | undefined,
): Promise<NotStarted | null> {
  for (const { program, passesWith, failsOn, only, reason } of guards) {
    const result = await runPipeline([program], GUARD_TERMS, means, { signal })
    const isFound = failsOn !== null && result.stdout.includes(failsOn)
    const foreign = only === null ? [] : linesBeside(only, result.stdout)
    const hasPassed = result.return_code === passesWith && !isFound && foreign.length === 0
    if (hasPassed && !result.truncated) continue
    const written = foreign.length > 0 ? foreign.join('\n') : result.stdout + result.stderr
    const found = isFound ? failsOn : written.trim().replaceAll(/\s*\n\s*/g, ', ')
    const shown = found === '' ? '' : `: ${found.slice(0, SHOWN_CHARACTERS)}`
    return { failure: 'guarded', stderr: reason + shown }
  }
  return null
}

function linesBeside(only: readonly string[], text: string): readonly string[] {
  const expected = new RegExp(`^(?:${only.join('|')})$`, 'u')
  return text.split('\n').filter((line) => line !== '' && !expected.test(line))
}

/** What one writes the next reads, as fast as it does. When that has gone, the writer finds its pipe closed. */
function connect({ stdout }: Child, { stdin }: Child): void {
  if (stdin === null) return
  stdin.once('close', () => stdout.destroy())
  stdout.pipe(stdin)
}

/** What a program left behind in its group would hold the pipe to the next one open. */
async function clearAtExit(child: Child, killTree: KillTree): Promise<void> {
  await child.exited
  await killTree.clearAll(child)
}

type Ending = 'exited' | 'timed_out' | 'cancelled'

function endingOf(children: readonly Child[], timeoutMs: number, signals: readonly Stop[]): Promise<Ending> {
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
    void Promise.all(children.map(({ exited }) => exited)).then(() => settle('exited'))
  })
}

function noteOf(ending: Ending, timeoutMs: number): string {
  if (ending === 'timed_out') return `Process timed out after ${timeoutMs / 1000} s`
  return ending === 'cancelled' ? 'Process cancelled' : ''
}

function withNote(text: string, note: string): string {
  return note === '' || text === '' || text.endsWith('\n') ? text + note : `${text}\n${note}`
}
