import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../shared/clock.ts'
import type { Stop } from '../../shared/stop.ts'
import type { SandboxHost } from './confinement.ts'
import type { Command, CommandResult, NotStarted, Program } from './command.ts'
import { notRun } from './command.ts'
import { notStarted } from './explain-start.ts'
import { createFindProgram } from './find-program.ts'
import { createKillTree } from './kill-tree.ts'
import type { ProcessSession, SessionCommand } from './process-session.ts'
import { openSession } from './process-session.ts'
import type { LineCommand, LineResult } from './run-line.ts'
import { runLine } from './run-line.ts'
import type { PipelineResult } from './run-pipeline.ts'
import { runPipeline } from './run-pipeline.ts'
import { createSandboxLook } from './sandbox-host.ts'
import type { Entry, SpawnQueue } from './spawn-queue.ts'
import { openSpawnQueue } from './spawn-queue.ts'
import type { Child } from './start-child.ts'
import { startChild } from './start-child.ts'
import { openWatchdog } from './watchdog.ts'

/** The one place where processes are started. */
export interface Subprocess {
  /** Never fails: whatever happens is a result. */
  run(command: Command, signal?: Stop): Promise<CommandResult>
  /** Several, joined as the line says; it takes one place. Never fails either. */
  runLine(line: LineCommand, signal?: Stop): Promise<LineResult>
  /** The signal only ends the waiting for a place; an open session is ended by its `close`. */
  open(command: SessionCommand, signal?: Stop): Promise<Opened>
  /** The absolute path of a program on a PATH. */
  find(command: string, path: string): string | null
  /** What a program can be held by here: looked for once, at once when that is known. */
  sandbox(): SandboxHost | Promise<SandboxHost>
  /** Ends every child, those that wait, and the watchdog. */
  close(): Promise<void>
}

type Opened =
  | { readonly session: ProcessSession; readonly failure: null }
  | ({ readonly session: null } & NotStarted)

export interface SubprocessOptions {
  readonly clock: Clock
  /** Commands that run at once; 64 unless given. */
  readonly maxChildren?: number
  /** Commands that wait for their turn; 1000 unless given. */
  readonly maxWaiting?: number
  /** Sessions at once; 64 unless given. */
  readonly maxSessions?: number
}

export function openSubprocess(options: SubprocessOptions): Subprocess {
  const { clock, maxChildren = 64, maxWaiting = 1000, maxSessions = 64 } = options
  const instance = randomBytes(8).toString('hex')
  const queue = openSpawnQueue({
    run: { places: maxChildren, waiting: maxWaiting },
    session: { places: maxSessions, waiting: 0 },
  })
  const killTree = createKillTree(clock)
  const watchdog = openWatchdog(instance)
  const closing = new AbortController()
  // Node warns of a leak when more than ten listen.
  setMaxListeners(0, closing.signal)
  const sessions = new Set<ProcessSession>()
  const runs = new Set<Promise<CommandResult>>()
  let started = 0

  const start = async (program: Program, stdin: 'pipe' | 'ignore'): Promise<Child | NotStarted> => {
    if (closing.signal.aborted) return refusal('closed', program)
    watchdog.wake()
    const child = await startChild(program, `${instance}.${++started}`, stdin)
    if (!('failure' in child)) watchdog.add(child.pid)
    return child
  }
  const release = ({ pid }: Child): void => watchdog.remove(pid)
  const inPlace = openPlaces(queue, runs)
  const means = { clock, killTree, start, release, closing: closing.signal }

  const run: Subprocess['run'] = (command, signal) =>
    inPlace(
      async () => commandResult(await runPipeline([command], command, means, { signal })),
      (why) => notRun(refusal(why, command)),
      signal,
    )

  const runWholeLine: Subprocess['runLine'] = (line, signal) =>
    inPlace<LineResult>(
      () => runLine(line, means, signal),
      (why) => ({ ...notRun(refusal(why, { command: 'the command line' })), return_codes: [] }),
      signal,
    )

  const open: Subprocess['open'] = async (command, signal) => {
    const entry = await queue.enter('session', signal)
    if (entry !== 'go') return { session: null, ...refusal(entry, command) }
    const child = await start(command, 'pipe')
    if ('failure' in child) {
      queue.leave('session')
      return { session: null, ...child }
    }
    const session = openSession(child, command, killTree)
    sessions.add(session)
    void forget(session, child)
    if (closing.signal.aborted) void session.close()
    return { session, failure: null }
  }

  const forget = async (session: ProcessSession, child: Child): Promise<void> => {
    await session.ended
    sessions.delete(session)
    release(child)
    queue.leave('session')
  }

  const close = async (): Promise<void> => {
    queue.close()
    killTree.hurry()
    closing.abort()
    await Promise.all([...runs, ...Array.from(sessions, (session) => session.close())])
    await watchdog.close()
  }

  const find = createFindProgram(clock)
  const sandbox = createSandboxLook({ find, run })
  return { run, runLine: runWholeLine, open, find, sandbox, close }
}

/** Waits for a place, and keeps what runs in it known. */
function openPlaces(queue: SpawnQueue, runs: Set<Promise<CommandResult>>) {
  return async <T extends CommandResult>(
    work: () => Promise<T>,
    refused: (why: Exclude<Entry, 'go'>) => T,
    signal?: Stop,
  ): Promise<T> => {
    const entry = await queue.enter('run', signal)
    if (entry !== 'go') return refused(entry)
    const result = work()
    runs.add(result)
    try {
      return await result
    } finally {
      runs.delete(result)
      queue.leave('run')
    }
  }
}

function commandResult({ return_codes: _codes, ...result }: PipelineResult): CommandResult {
  return result
}

function refusal(entry: Exclude<Entry, 'go'>, { command }: Pick<Program, 'command'>): NotStarted {
  if (entry === 'cancelled') return { failure: 'cancelled', stderr: 'Cancelled before it started' }
  if (entry === 'closed') return notStarted(command, 'Kiwi is closing')
  return { failure: 'overloaded', stderr: `Cannot start "${command.slice(0, 200)}": too many are running` }
}
