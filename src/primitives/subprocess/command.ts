import type { Confinement } from './confinement.ts'

/** A program with everything it is started with: concrete values, no templates. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment of the child: nothing of ours is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** What holds it; left out where it runs bare. */
  readonly confinement?: Confinement | undefined
  /** Run before it; when one does not pass, it is not started. */
  readonly guards?: readonly Guard[]
}

/** A program that looks whether another may be started here: it passes by ending with one code, and with no other. */
export interface Guard {
  readonly program: Omit<Program, 'guards'>
  readonly passesWith: number
  /** What must not be in its output; null when only the code counts. */
  readonly failsOn: string | null
  /** What every line of its output must be, as regular expressions; null when any line will do. */
  readonly only: readonly string[] | null
  /** Why not, in words; what the guard wrote is put behind it. */
  readonly reason: string
}

/** A program that runs to its end. */
export interface Command extends Program {
  /** Written to standard input, which is then closed; null is an empty input. */
  readonly input: string | Uint8Array | null
  readonly timeoutMs: number
  /** From TERM to KILL. */
  readonly killGraceMs: number
  /** Kept bytes of stdout and of stderr each; the rest is read and dropped. */
  readonly maxOutputBytes: number
  /** False: what the child writes is read and dropped. */
  readonly captureOutput: boolean
}

export type StartFailure =
  | 'missing_command'
  | 'not_found'
  | 'not_executable'
  | 'bad_folder'
  | 'not_started'
  | 'overloaded'
  | 'guarded'

/** One shape for every ending: nothing the child or the system does is thrown. */
export interface CommandResult {
  readonly success: boolean
  readonly stdout: string
  readonly stderr: string
  /** -1 when it did not exit by itself. */
  readonly return_code: number
  readonly duration_ms: number
  readonly signal: string | null
  readonly truncated: boolean
  readonly timed_out: boolean
  readonly cancelled: boolean
  readonly failure: StartFailure | null
}

/** Why there is no child, with the text a person reads. */
export interface NotStarted {
  readonly failure: StartFailure | 'cancelled'
  readonly stderr: string
}

/** The result of a command that never had a child. */
export function notRun({ failure, stderr }: NotStarted): CommandResult {
  const isCancelled = failure === 'cancelled'
  return {
    success: false,
    stdout: '',
    stderr,
    return_code: -1,
    duration_ms: 0,
    signal: null,
    truncated: false,
    timed_out: false,
    cancelled: isCancelled,
    failure: isCancelled ? null : failure,
  }
}
