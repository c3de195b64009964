import { setMaxListeners } from 'node:events'
import type { Clock } from '../../shared/clock.ts'
import type { Stop } from '../../shared/stop.ts'
import type { Problem } from './result.ts'
import type { Link, LinkedList } from './linked-list.ts'

interface Bounds {
  readonly timeoutMs: number
  readonly signal: Stop | undefined
  readonly clock: Clock
  /** Every call that still runs, so that closing the client can end them. */
  readonly live: LinkedList<Deadline>
}

/** The longest delay a timer can hold. */
export const LONGEST_MS = 2 ** 31 - 1

/** What a call is waiting for; a problem's `error` is the reason only. An object: V8 puts a function that is assigned to a property among long-lived things. */
export interface Stoppable {
  stop(problem: Problem): void
}

/** What ends a call from outside: its time, its caller, or the client's close. A class, since every call has one. */
export class Deadline {
  /** Hears of it. */
  listener: Stoppable | null = null
  #problem: Problem | null = null
  readonly #bounds: Bounds
  readonly #started: number
  readonly #timer: NodeJS.Timeout
  readonly #link: Link<Deadline>
  readonly #cancel: (() => void) | null
  #attempt: NodeJS.Timeout | null = null

  constructor(bounds: Bounds) {
    const { timeoutMs, signal, clock, live } = bounds
    this.#bounds = bounds
    this.#started = clock.monotonic()
    this.#timer = setTimeout(() => this.end(timedOut(timeoutMs)), Math.min(timeoutMs, LONGEST_MS))
    this.#cancel = signal === undefined ? null : () => this.end(CANCELLED)
    this.#link = live.add(this)
    if (signal === undefined || this.#cancel === null) return
    // Many calls may share one signal; Node would warn of a leak on standard error.
    if (signal instanceof AbortSignal) setMaxListeners(0, signal)
    signal.addEventListener('abort', this.#cancel, { once: true })
    if (signal.aborted) this.#cancel()
  }

  /** Why the call is over; null while it may go on. */
  get problem(): Problem | null {
    return this.#problem
  }

  /** Milliseconds left. */
  get remaining(): number {
    return Math.max(0, this.#bounds.timeoutMs - this.elapsed)
  }

  get elapsed(): number {
    return this.#bounds.clock.monotonic() - this.#started
  }

  /** Bounds one attempt: the listener hears of it, the call itself goes on. */
  startAttempt(timeoutMs: number): void {
    this.#attempt = setTimeout(
      () => this.listener?.stop(timedOut(timeoutMs)),
      Math.min(timeoutMs, LONGEST_MS),
    )
  }

  endAttempt(): void {
    if (this.#attempt !== null) clearTimeout(this.#attempt)
  }

  /** From here on only the caller and `end` stop it. */
  lift(): void {
    clearTimeout(this.#timer)
  }

  end(problem: Problem): void {
    if (this.#problem !== null) return
    const { listener } = this
    this.#problem = problem
    this.release()
    listener?.stop(problem)
  }

  /** The call is done; nothing is heard any more. */
  release(): void {
    const { live, signal } = this.#bounds
    this.listener = null
    clearTimeout(this.#timer)
    this.endAttempt()
    if (this.#cancel !== null) signal?.removeEventListener('abort', this.#cancel)
    live.remove(this.#link)
  }
}

/** Waits unless the call ends before; says whether it may go on. */
export function pause(ms: number, deadline: Deadline): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer)
      deadline.listener = null
      resolve(deadline.problem === null)
    }
    const timer = setTimeout(settle, ms)
    deadline.listener = { stop: settle }
    if (deadline.problem !== null) settle()
  })
}

const CANCELLED: Problem = { failure: 'cancelled', error: 'the call was cancelled' }

function timedOut(ms: number): Problem {
  return { failure: 'timeout', error: `no whole answer within ${ms} ms` }
}
