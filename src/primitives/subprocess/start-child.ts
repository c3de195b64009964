import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { PROCESS_MARK } from '../../config/environment.ts'
import { confine } from './bubblewrap.ts'
import type { NotStarted, Program } from './command.ts'
import { explainStart, notStarted } from './explain-start.ts'
import { pipesOf } from './pipe-holders.ts'

/** A child that leads a process group of its own: its pid is also the id of the group. */
export interface Child {
  readonly pid: number
  /** The value of the variable by which its descendants are known. */
  readonly mark: string
  /** The ends of its pipes, by which descendants are known that dropped the mark. */
  readonly pipes: ReadonlySet<string>
  /** Whether the child is what holds the program, and not the program itself. */
  readonly isConfined: boolean
  readonly stdin: Writable | null
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<Exit>
  /** It exited and nobody holds its pipes any more. */
  readonly closed: Promise<unknown>
  /** Stop waiting for a process or a pipe that does not go away. */
  abandon(): void
}

interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/** Starts a program by its arguments, never through a shell. */
export async function startChild(
  program: Program,
  mark: string,
  stdin: 'pipe' | 'ignore',
): Promise<Child | NotStarted> {
  const { command, cwd } = program
  if (command === '') return { failure: 'missing_command', stderr: "Missing 'command'" }
  if (cwd === '') return { failure: 'bad_folder', stderr: 'The working folder is empty' }
  // A name with "=" would set another variable than the one that was allowed.
  if (Object.keys(program.env).some((name) => name === '' || name.includes('='))) {
    return notStarted(command, 'the name of a variable is empty or holds "="')
  }
  try {
    const { confinement } = program
    const started = confinement === undefined ? program : confine(program, confinement)
    const child = spawn(started.command, started.args, {
      cwd,
      // Node hands its coverage variable to every child that does not have the key.
      env: { NODE_V8_COVERAGE: undefined, ...started.env, [PROCESS_MARK]: mark },
      stdio: [stdin, 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    })
    return (
      keep(child, { mark, isConfined: confinement !== undefined }) ??
      explainStart(program, await failureOf(child))
    )
  } catch (error) {
    return explainStart(program, error)
  }
}

/** Node tells of a missing program by an event, after it returned a child without a pid. */
function failureOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => {
    child.once('error', resolve)
  })
}

function keep(child: ChildProcess, known: Pick<Child, 'mark' | 'isConfined'>): Child | null {
  const { pid, stdin, stdout, stderr } = child
  for (const stream of [child, stdin, stdout, stderr]) stream?.on('error', ignore)
  if (pid === undefined || stdout === null || stderr === null) return null
  let leave: (exit: Exit) => void = ignore
  let close: () => void = ignore
  const exited = new Promise<Exit>((resolve) => {
    leave = resolve
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const closed = new Promise<void>((resolve) => {
    close = resolve
    child.once('close', () => resolve())
  })
  return {
    ...known,
    pid,
    pipes: pipesOf(pid),
    stdin,
    stdout,
    stderr,
    exited,
    closed,
    abandon() {
      for (const stream of [stdin, stdout, stderr]) stream?.destroy()
      child.unref()
      leave({ code: null, signal: null })
      close()
    },
  }
}

/** A child need not read its input (EPIPE); what else breaks shows in how it ends. */
function ignore(): void {}
