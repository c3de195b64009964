import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Expiring } from './deadlines.ts'
import { openDeadlines } from './deadlines.ts'
import type { Answer, RpcError } from './read-message.ts'
import type { UpstreamRequest } from './upstream.ts'

/** The requests that wait for an answer, by their numbers. */
export interface Pending {
  readonly size: number
  /** `letGo` hears that nobody waits any more. */
  add(request: UpstreamRequest, letGo: (reason: string) => void): InFlight
  get(number: number): InFlight | undefined
  /** The oldest first. */
  all(): Iterable<InFlight>
  /** False for an answer that nobody waits for. */
  settle(answer: Answer): boolean
  /** The upstream is gone, and with it every answer. */
  loseAll(loss: Omit<Loss, 'isRepeatable'>): void
}

/** One request that waits. */
export interface InFlight {
  readonly number: number
  readonly request: UpstreamRequest
  readonly answer: Promise<JsonObject>
  readonly fail: (error: KiwiError) => void
  /** Called when it is over, however it ended. */
  readonly endings: Set<() => void>
  /** Questions of the upstream that whoever waits for it has not answered yet. */
  asking: number
  /** When it was asked last, by the monotonic clock. */
  askedAt: number
  /** All questions that were asked of it. */
  questions: number
  /** Nobody is asked any more: its time begins anew. */
  resume(): void
}

/** More would only wait. */
const MOST_WAITING = 1000
/** `id` is how people know the upstream. */
export function openPending(id: string): Pending {
  const waiting = new Map<number, Entry>()
  const deadlines = openDeadlines(() => waiting.values())
  let last = 0
  return {
    get size() {
      return waiting.size
    },
    get: (number) => waiting.get(number),
    all: () => waiting.values(),
    add(request, letGo) {
      if (waiting.size >= MOST_WAITING)
        throw new KiwiError('OVERLOADED', `Cannot use "${id}": too many calls wait for it`)
      const { signal, timeoutMs, isRepeatable } = request
      const number = ++last
      let settle = NOBODY
      const answer = new Promise<JsonObject>((resolve, reject) => {
        settle = { resolve, reject }
      })
      const end = (): void => {
        signal?.removeEventListener('abort', cancel)
        waiting.delete(number)
        for (const ending of entry.endings) ending()
      }
      const succeed = (result: JsonObject): void => {
        end()
        settle.resolve(result)
      }
      const fail = (error: KiwiError): void => {
        end()
        settle.reject(error)
      }
      const giveUp = (error: KiwiError, reason: string): void => {
        fail(error)
        letGo(reason)
      }
      const cancel = (): void => giveUp(cancelled(id), 'cancelled')
      const expire = (): void => {
        // While somebody is asked, it is not the upstream that takes so long.
        if (entry.asking > 0) entry.deadline = deadlines.in(timeoutMs)
        else giveUp(tooLate(id, timeoutMs, isRepeatable), 'timeout')
      }
      signal?.addEventListener('abort', cancel)
      const deadline = deadlines.in(timeoutMs)
      const entry: Entry = {
        number,
        request,
        answer,
        succeed,
        fail,
        deadline,
        expire,
        endings: new Set(),
        asking: 0,
        askedAt: 0,
        questions: 0,
        resume() {
          entry.deadline = deadlines.in(timeoutMs)
        },
      }
      waiting.set(number, entry)
      return entry
    },
    settle(answer) {
      const asked = waiting.get(answer.id)
      if (asked === undefined) return false
      if (answer.kind === 'result') asked.succeed(answer.result)
      else asked.fail(failureOf(id, answer.error))
      return true
    },
    loseAll(loss) {
      for (const { request, fail } of waiting.values())
        fail(lost(id, { ...loss, isRepeatable: request.isRepeatable }))
    },
  }
}

interface Entry extends InFlight, Expiring {
  deadline: number
  readonly succeed: (result: JsonObject) => void
}

interface Settle {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: KiwiError) => void
}

const NOBODY: Settle = { resolve() {}, reject() {} }

export function cancelled(id: string): KiwiError {
  return new KiwiError('CANCELLED', `Cannot use "${id}": the call was cancelled`)
}

const CHECK_FIRST = 'Check whether it took effect before you send it again'

export function tooLate(id: string, timeoutMs: number, isRepeatable: boolean): KiwiError {
  return new KiwiError(
    'TIMEOUT',
    `Cannot use "${id}": it took longer than ${Math.ceil(timeoutMs) / 1000} s`,
    isRepeatable ? {} : { retryable: false, hint: CHECK_FIRST },
  )
}

interface Loss {
  readonly why: string
  readonly isTooLarge: boolean
  readonly isRepeatable: boolean
  /** What a program ended with by itself. */
  readonly exitCode?: number | undefined
  /** What to do where it may be sent again; left out for what is started anew. */
  readonly hint?: string | undefined
}

const STARTED_ANEW = 'Send the call again: it is started anew'

/** Whoever asked for something that may have been done is not told to do it again. */
export function lost(
  id: string,
  { why, isTooLarge, isRepeatable, exitCode, hint = STARTED_ANEW }: Loss,
): KiwiError {
  const code = isRepeatable ? (isTooLarge ? 'MESSAGE_TOO_LARGE' : 'UPSTREAM_UNAVAILABLE') : 'OUTCOME_UNKNOWN'
  return new KiwiError(code, `Cannot use "${id}": ${why}`, {
    ...(code === 'UPSTREAM_UNAVAILABLE' ? { hint } : {}),
    ...(exitCode === undefined ? {} : { details: { exit_code: exitCode } }),
  })
}

function failureOf(id: string, error: RpcError | 'too_deep' | 'too_much'): KiwiError {
  if (error === 'too_much')
    return new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot use "${id}": its answer holds more values than are taken`,
    )
  return error === 'too_deep' ? tooDeep(id) : refused(id, error)
}

function tooDeep(id: string): KiwiError {
  return new KiwiError('TOO_DEEP', `Cannot use "${id}": its answer is nested too deep`)
}

const SAID_CHARACTERS = 500

/** What it refused with goes along whole, for whoever passes it on. */
export function refused(id: string, error: RpcError): KiwiError {
  const said = JSON.stringify(error.message.slice(0, SAID_CHARACTERS))
  return new KiwiError('TOOL_FAILED', `Cannot use "${id}": it says ${said}`, {
    hint: 'It refused the call: correct the parameters, or ask the person what the server needs (kiwi doctor)',
    details: { rpc_error: error },
  })
}
