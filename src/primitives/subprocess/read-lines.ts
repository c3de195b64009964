import type { Readable } from 'node:stream'
import { createBytePile } from './byte-pile.ts'

/** The lines of a stream, for one reader. Reading stops while many wait to be taken, so the writer has to wait too. */
export interface Lines extends AsyncIterable<string> {
  /** All writers are gone: the lines end when nothing more comes, even if somebody still holds the pipe. */
  finish(): void
  /** The lines end now; what still comes is read and dropped. */
  drop(): void
}

interface LineLimits {
  readonly maxLineBytes: number
  readonly onTooLong: () => void
}

const NEWLINE = 0x0a
const MAX_WAITING = 256 * 1024
/** What a line costs besides its characters, so that many empty ones are bounded too. */
const LINE_COST = 64
const QUIET_MS = 250
/** In one turn of the loop: a flood must not take all our time. */
const MOST_A_TURN = 64 * 1024

export function readLines(stream: Readable, { maxLineBytes, onTooLong }: LineLimits): Lines {
  /** The beginning of a line whose end has not come. */
  const open = createBytePile()
  const waiting: string[] = []
  let waitingCost = 0
  let isOver = false
  let hasNews = false
  const turns = createTurns(stream, () => waitingCost <= MAX_WAITING)
  let wake: (() => void) | null = null

  const end = (): void => {
    isOver = true
    open.drop()
    wake?.()
  }

  /** False when the line is longer than allowed. */
  const add = (piece: Buffer): boolean => {
    if (open.size + piece.length > maxLineBytes) {
      end()
      onTooLong()
      return false
    }
    open.add(piece)
    return true
  }

  const read = (chunk: Buffer): void => {
    hasNews = true
    if (isOver) return
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      if (!add(chunk.subarray(from, at))) return
      const line = open.take().toString('utf8')
      waiting.push(line)
      waitingCost += line.length + LINE_COST
      from = at + 1
    }
    if (from < chunk.length && !add(chunk.subarray(from))) return
    if (waitingCost > MAX_WAITING) stream.pause()
    turns.took(chunk.length)
    wake?.()
  }

  stream.on('data', read)
  stream.once('close', end)

  return {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const line = waiting.shift()
        if (line !== undefined) {
          waitingCost -= line.length + LINE_COST
          yield line
          continue
        }
        if (isOver) return
        if (!turns.isResting) stream.resume()
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    finish() {
      endWhen(stream, () => {
        const isStill = !hasNews && !stream.isPaused()
        hasNews = false
        return isOver || isStill
      })
    },
    drop() {
      waiting.length = 0
      end()
      stream.resume()
    },
  }
}

/** Looks again and again whether nothing more is to come. */
function endWhen(stream: Readable, isDone: () => boolean): void {
  const timer = setInterval(() => {
    if (!isDone()) return
    clearInterval(timer)
    stream.destroy()
  }, QUIET_MS)
  timer.unref()
}

interface Turns {
  readonly isResting: boolean
  took(bytes: number): void
}

/** Stops a stream that brought much until everybody else had a turn. */
function createTurns(stream: Readable, mayGoOn: () => boolean): Turns {
  let taken = 0
  let isResting = false
  return {
    get isResting() {
      return isResting
    },
    took(bytes) {
      taken += bytes
      if (taken <= MOST_A_TURN) return
      taken = 0
      isResting = true
      stream.pause()
      setImmediate(() => {
        isResting = false
        if (mayGoOn() && !stream.destroyed) stream.resume()
      })
    },
  }
}
