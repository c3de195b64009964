import type { Transform } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { ConnectionPool, Seat } from './connection-pool.ts'
import { createDecoder } from './content-decoder.ts'
import type { FlowQueue } from './flow-queue.ts'
import { createFlowQueue } from './flow-queue.ts'
import type { Deadline, Stoppable } from './deadline.ts'
import type { Target } from './request.ts'
import type { HttpFailure, Problem } from './result.ts'
import { errorOf, problemOf, worded } from './result.ts'

export interface Head {
  readonly status: number
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
}

/** What one request on one connection came to. */
export interface Answer {
  /** null: none arrived. */
  readonly head: Head | null
  /** The whole body, or nothing when it broke off. */
  readonly bytes: Buffer
  /** The body of a success that is read as a stream. */
  readonly chunks: FlowQueue<Buffer> | null
  readonly problem: Problem | null
}

export interface Reading {
  /** Bytes of a body that is read whole. */
  readonly maxBytes: number
  /** How a 2xx body is read as a stream: the longest wait for a chunk, and the bytes of all; null: it is read whole. */
  readonly streaming: { readonly idleMs: number; readonly maxBytes: number } | null
}

/** Sends one request; resolves when its answer is whole or its stream begins. */
export function exchange(
  pool: ConnectionPool,
  target: Target,
  reading: Reading,
  deadline: Deadline,
): Promise<Answer> {
  return new Promise((resolve) => {
    const one = new Exchange(target, reading, deadline, resolve)
    deadline.listener = one
    if (deadline.problem !== null) return one.stop(deadline.problem)
    const { method, url, headers, body } = target
    one.sit(pool.run({ path: `${url.pathname}${url.search}`, method, headers, body }, one))
  })
}

/** Bytes of a stream that may wait for their reader. */
const HIGH_WATER = 64 * 1024

/** When one of these ends a request that was sent and must not be repeated, nobody knows what it did. */
const LEAVES_DOUBT: ReadonlySet<HttpFailure> = new Set(['connection', 'tls', 'timeout', 'protocol'])

class Exchange implements Dispatcher.DispatchHandler, Stoppable {
  readonly #target: Target
  readonly #reading: Reading
  readonly #deadline: Deadline
  readonly #resolve: (answer: Answer) => void
  #seat: Seat | null = null
  #controller: Dispatcher.DispatchController | null = null
  #head: Head | null = null
  #decoder: Transform | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  #maxBytes: number
  #queue: FlowQueue<Buffer> | null = null
  #isSent: boolean
  #isOver = false

  constructor(target: Target, reading: Reading, deadline: Deadline, resolve: (answer: Answer) => void) {
    this.#target = target
    this.#reading = reading
    this.#deadline = deadline
    this.#resolve = resolve
    this.#maxBytes = reading.maxBytes
    this.#isSent = target.isFollowed
  }

  /** A request that is refused at once is over before it has a seat. */
  sit(seat: Seat): void {
    this.#seat = seat
    if (this.#isOver) seat.leave()
  }

  /** Ends it and its connection; `error` is the reason only. */
  stop(problem: Problem): void {
    this.#break(worded(this.#target.url.host, problem))
  }

  #break(problem: Problem): void {
    if (this.#isOver) return
    this.#decoder?.destroy()
    this.#finish(problem)
    this.#seat?.destroy()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#isSent = true
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    reason = '',
  ): void {
    if (status < 200 || this.#isOver) return
    this.#head = { status, reason, headers: flatten(headers) }
    const { streaming } = this.#reading
    if (streaming === null || status > 299) return
    this.#deadline.lift()
    this.#maxBytes = streaming.maxBytes
    this.#queue = this.#openQueue(streaming.idleMs)
    this.#resolve({ head: this.#head, bytes: EMPTY, chunks: this.#queue, problem: null })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    const encoding = this.#head?.headers['content-encoding']
    if (this.#bytes === 0 && this.#decoder === null && encoding !== undefined) {
      this.#decoder = this.#openDecoder(encoding, chunk[0] ?? 0)
    }
    if (this.#decoder === null) return this.#accept(chunk)
    if (!this.#decoder.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    if (this.#seat?.isBroken === true) return this.#break(brokenOff(this.#target.url.host))
    this.#seat?.leave()
    if (this.#decoder === null) this.#finish(null)
    else this.#decoder.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#decoder?.destroy()
    this.#finish(problemOf(error, this.#target.url.host))
    this.#seat?.leave()
  }

  #openDecoder(encoding: string, firstByte: number): Transform | null {
    const decoder = createDecoder(encoding, firstByte)
    return (
      decoder
        ?.on('data', (chunk: Buffer) => this.#accept(chunk))
        .on('drain', () => this.#controller?.resume())
        .on('end', () => this.#finish(null))
        .on('error', (error) => this.#break(problemOf(error, this.#target.url.host))) ?? null
    )
  }

  #openQueue(idleMs: number): FlowQueue<Buffer> {
    return createFlowQueue<Buffer>({
      highWater: HIGH_WATER,
      idleMs,
      pause: () => (this.#decoder ?? this.#controller)?.pause(),
      resume: () => (this.#decoder ?? this.#controller)?.resume(),
      idle: () => this.stop({ failure: 'timeout', error: `no data within ${idleMs} ms` }),
      close: () => this.stop({ failure: 'cancelled', error: 'the stream was closed' }),
    })
  }

  #accept(chunk: Buffer): void {
    if (this.#isOver) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) {
      return this.stop({ failure: 'too_large', error: `the answer is larger than ${this.#maxBytes} bytes` })
    }
    if (this.#queue === null) this.#chunks.push(chunk)
    else this.#queue.push(chunk, chunk.length)
  }

  #finish(problem: Problem | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline.listener = null
    const settled = problem === null ? null : this.#inDoubt(problem)
    if (this.#queue !== null) {
      this.#queue.end(settled === null ? undefined : errorOf(settled))
      return this.#deadline.release()
    }
    const chunks = settled === null ? this.#chunks : []
    const bytes = chunks.length > 1 ? Buffer.concat(chunks) : (chunks[0] ?? EMPTY)
    this.#chunks = []
    this.#resolve({ head: this.#head, bytes, chunks: null, problem: settled })
  }

  #inDoubt(problem: Problem): Problem {
    if (this.#target.isIdempotent || !this.#isSent || !LEAVES_DOUBT.has(problem.failure)) return problem
    return { failure: 'outcome_unknown', error: `${problem.error}; it was sent, and may have taken effect` }
  }
}

function brokenOff(host: string): Problem {
  return { failure: 'connection', error: `Cannot reach "${host}": the connection broke` }
}

const EMPTY = Buffer.alloc(0)

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return flat
}
