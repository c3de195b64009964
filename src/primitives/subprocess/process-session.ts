import type { Readable } from 'node:stream'
import { KiwiError } from '../../shared/errors.ts'
import { gathered } from '../../shared/gathered.ts'
import type { Program } from './command.ts'
import type { KillTree } from './kill-tree.ts'
import { readLines } from './read-lines.ts'
import type { Child } from './start-child.ts'
import type { Tail } from './tail.ts'
import { createTail } from './tail.ts'
import { within } from './within.ts'

/** A program that lives on and is spoken to in lines. */
export interface SessionCommand extends Program {
  /** A longer line ends the session; 10 MB unless given. */
  readonly maxLineBytes?: number
}

interface SessionEnd {
  /** -1 when it did not exit by itself. */
  readonly return_code: number
  readonly signal: string | null
  readonly failure: 'message_too_large' | null
}

/** A long-lived child. */
export interface ProcessSession {
  readonly pid: number
  /** What it writes to stdout, without line ends. For one reader, who may leave and come back: nothing is lost. */
  readonly lines: AsyncIterable<string>
  /** Kept when the child can take more. Fails when it has ended, or does not read. */
  send(line: string): Promise<void>
  /** The last 64 kB of what it wrote to stderr. */
  stderr(): string
  /** Kept, never broken, when the child and its descendants are gone. */
  readonly ended: Promise<SessionEnd>
  /** Ends the input, then TERM after half a second, then KILL four seconds after the first. */
  close(): Promise<SessionEnd>
}

const MAX_LINE_BYTES = 10 * 1024 * 1024
const STDERR_BYTES = 64 * 1024
/** So much of stderr is read at once, and then nothing for a moment: nobody waits for it, and whoever floods it has to. */
const STDERR_BURST_BYTES = 256 * 1024
const STDERR_PAUSE_MS = 20
/** Many servers go on when their input has ended, and whoever types one command waits for it. */
const END_OF_INPUT_MS = 500
const TERM_MS = 3500
/** What a child that does not read may leave lying here. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

export function openSession(child: Child, command: SessionCommand, killTree: KillTree): ProcessSession {
  const tail = createTail(STDERR_BYTES)
  let failure: SessionEnd['failure'] = null
  let isStopped = false
  let closing: Promise<SessionEnd> | null = null

  drain(child.stderr, tail)
  const sender = createSender(child, command.command)
  const lines = readLines(child.stdout, {
    maxLineBytes: command.maxLineBytes ?? MAX_LINE_BYTES,
    onTooLong() {
      failure = 'message_too_large'
      child.stdout.destroy()
      void stop()
    },
  })

  const stop = (): Promise<void> => {
    isStopped = true
    return killTree.stop(child, TERM_MS)
  }

  const end = async (): Promise<SessionEnd> => {
    const exit = await child.exited
    sender.end()
    await killTree.clearAll(child)
    lines.finish()
    return { return_code: isStopped ? -1 : (exit.code ?? -1), signal: exit.signal, failure }
  }
  const ended = end()

  const close = async (): Promise<SessionEnd> => {
    lines.drop()
    child.stdin?.end()
    if (!(await within(child.exited, END_OF_INPUT_MS))) await stop()
    return ended
  }

  return {
    pid: child.pid,
    lines,
    send: (line) => sender.send(line),
    stderr: () => tail.text(),
    ended,
    close: () => (closing ??= close()),
  }
}

function drain(stderr: Readable, tail: Tail): void {
  let taken = 0
  stderr.on('data', (chunk: Buffer) => {
    tail.add(chunk)
    taken += chunk.length
    if (taken < STDERR_BURST_BYTES) return
    taken = 0
    stderr.pause()
    setTimeout(() => stderr.resume(), STDERR_PAUSE_MS).unref()
  })
}

interface Sender {
  send(line: string): Promise<void>
  /** The child is gone: those that wait for it fail. */
  end(): void
}

const WRITTEN = Promise.resolve()

function unread(command: string): KiwiError {
  return new KiwiError('OVERLOADED', `Cannot write to "${command}": it does not read what it was sent`)
}

function broken(command: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot write to "${command}": the line holds a line break`)
}

function createSender({ stdin }: Child, command: string): Sender {
  let isOver = false
  const waiting: (() => void)[] = []
  const wakeAll = (): void => {
    for (const wake of waiting.splice(0)) wake()
  }
  stdin?.on('drain', wakeAll)
  stdin?.once('close', () => {
    isOver = true
    wakeAll()
  })
  const write = stdin === null ? null : gathered(stdin)
  const whenTaken = async (): Promise<void> => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
    })
    if (isOver) throw gone()
  }
  const gone = (): KiwiError =>
    new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot write to "${command}": it has ended`)

  return {
    send(line) {
      if (line.includes('\n')) return Promise.reject(broken(command))
      if (isOver || write === null || stdin?.writable !== true) return Promise.reject(gone())
      if (stdin.writableLength > MAX_UNREAD_BYTES) return Promise.reject(unread(command))
      return write(`${line}\n`) ? WRITTEN : whenTaken()
    },
    end() {
      isOver = true
      wakeAll()
    },
  }
}
