import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Message } from './read-message.ts'

/** How long an answer is waited for, and what its failing to come means. */
export interface Patience {
  readonly timeoutMs: number
  /** When nobody knows whether it was done, it may be sent again. */
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
}

/** The requests that wait for an answer, by their numbers. */
export interface Pending {
  /** `onGiveUp` hears that nobody waits any more. */
  wait(patience: Patience, onGiveUp: (number: number, reason: string) => void): Waiting
  /** False for an answer that nobody waits for. */
  settle(answer: Answer): boolean
  /** The upstream is gone, and with it every answer. */
  loseAll(why: string, isTooLarge: boolean): void
}

type Answer = Extract<Message, { kind: 'result' | 'error' }>

interface Waiting {
  readonly number: number
  readonly answer: Promise<JsonObject>
  readonly fail: (error: KiwiError) => void
}

/** More would only wait. */
const MOST_WAITING = 1000
const SAID_CHARACTERS = 500

/** `id` is how people know the upstream. */
export function openPending(id: string): Pending {
  const waiting = new Map<number, Entry>()
  let last = 0
  return {
    wait({ timeoutMs, isRepeatable, signal }, onGiveUp) {
      if (waiting.size >= MOST_WAITING)
        throw new KiwiError('OVERLOADED', `Cannot use "${id}": too many calls wait for it`)
      const number = ++last
      const { promise, resolve, reject } = withResolvers()
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', cancel)
        waiting.delete(number)
      }
      const fail = (error: KiwiError): void => {
        end()
        reject(error)
      }
      const giveUp = (error: KiwiError, reason: string): void => {
        fail(error)
        onGiveUp(number, reason)
      }
      const cancel = (): void => giveUp(cancelled(id), 'cancelled')
      const timer = setTimeout(() => giveUp(tooLate(id, timeoutMs, isRepeatable), 'timeout'), timeoutMs)
      signal?.addEventListener('abort', cancel)
      const succeed = (result: JsonObject): void => {
        end()
        resolve(result)
      }
      waiting.set(number, { succeed, fail, isRepeatable })
      return { number, answer: promise, fail }
    },
    settle(answer) {
      const asked = waiting.get(answer.id)
      if (asked === undefined) return false
      if (answer.kind === 'result') asked.succeed(answer.result)
      else asked.fail(new KiwiError('TOOL_FAILED', `Cannot use "${id}": it says ${shown(answer.message)}`))
      return true
    },
    loseAll(why, isTooLarge) {
      for (const { fail, isRepeatable } of waiting.values()) fail(lost(id, why, isRepeatable, isTooLarge))
    },
  }
}

interface Entry {
  readonly succeed: (result: JsonObject) => void
  readonly fail: (error: KiwiError) => void
  readonly isRepeatable: boolean
}

interface Resolvers {
  readonly promise: Promise<JsonObject>
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: KiwiError) => void
}

function withResolvers(): Resolvers {
  let settle: Omit<Resolvers, 'promise'> = { resolve: () => {}, reject: () => {} }
  const promise = new Promise<JsonObject>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}

export function cancelled(id: string): KiwiError {
  return new KiwiError('CANCELLED', `Cannot use "${id}": the call was cancelled`)
}

const CHECK_FIRST = 'Check whether it took effect before you send it again'

function tooLate(id: string, timeoutMs: number, isRepeatable: boolean): KiwiError {
  return new KiwiError(
    'TIMEOUT',
    `Cannot use "${id}": it took longer than ${timeoutMs / 1000} s`,
    isRepeatable ? {} : { retryable: false, hint: CHECK_FIRST },
  )
}

function lost(id: string, why: string, isRepeatable: boolean, isTooLarge: boolean): KiwiError {
  const code = isRepeatable ? (isTooLarge ? 'MESSAGE_TOO_LARGE' : 'UPSTREAM_UNAVAILABLE') : 'OUTCOME_UNKNOWN'
  return new KiwiError(
    code,
    `Cannot use "${id}": ${why}`,
    code === 'UPSTREAM_UNAVAILABLE' ? { hint: 'Send the call again: it is started anew' } : {},
  )
}

function shown(said: string): string {
  return JSON.stringify(said.slice(0, SAID_CHARACTERS))
}
