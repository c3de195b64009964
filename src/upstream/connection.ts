import type { ProcessSession } from '../primitives/subprocess/process-session.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { VERSION } from '../shared/version.ts'
import type { Message } from './read-message.ts'
import { readMessage } from './read-message.ts'

/** A request on its way to an upstream. */
export interface UpstreamRequest {
  readonly method: string
  readonly params: JsonObject
  readonly timeoutMs: number
  /** When nobody knows whether it was done, it may be sent again. */
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
}

/** One upstream that is up: any number of requests at once, told apart by their ids. */
export interface Connection {
  /** Fails with CANCELLED, TIMEOUT, TOOL_FAILED, MESSAGE_TOO_LARGE, UPSTREAM_UNAVAILABLE or OUTCOME_UNKNOWN. */
  request(request: UpstreamRequest): Promise<JsonObject>
  /** False from the moment on that nothing can be asked any more. */
  readonly isOpen: boolean
  close(): Promise<void>
}

const PROTOCOL_VERSION = '2025-11-25'
/** More would only wait. */
const MOST_OPEN = 1000
const SAID_CHARACTERS = 500
const METHOD_NOT_FOUND = -32601

/** Speaks the handshake; an upstream that does not answer it in time is ended. `id` is how people know it. */
export async function connect(id: string, session: ProcessSession, startupMs: number): Promise<Connection> {
  const connection = speak(id, session)
  try {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'kiwi-mcp', version: VERSION },
    }
    await connection.request({ method: 'initialize', params, timeoutMs: startupMs, isRepeatable: true })
    await connection.notify('notifications/initialized')
    return connection
  } catch (error) {
    const why = error instanceof KiwiError && error.code === 'TIMEOUT' ? 'it does not answer' : null
    const { skipped } = connection
    await connection.close()
    if (why === null) throw error
    const noise = skipped === 0 ? '' : `; it wrote ${skipped} lines that are no messages`
    throw new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot start "${id}": ${why}${noise}${lastSaid(session)}`, {
      cause: error,
    })
  }
}

interface Speaking extends Connection {
  notify(method: string, params?: JsonObject): Promise<void>
  /** Lines that were no messages, or answers to nothing that was asked. */
  readonly skipped: number
}

interface Waiting {
  readonly succeed: (result: JsonObject) => void
  readonly fail: (error: KiwiError) => void
  /** The failure when the upstream is gone. */
  readonly lost: (why: string, isTooLarge: boolean) => KiwiError
}

function speak(id: string, session: ProcessSession): Speaking {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let skipped = 0
  let isOpen = true

  const send = (message: JsonObject): Promise<void> =>
    session.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  /** What is only told need not arrive. */
  const tell = (message: JsonObject): void => void send(message).catch(() => {})

  const take = (message: Message | null): void => {
    if (message?.kind === 'request') {
      const isPing = message.method === 'ping'
      const error = { code: METHOD_NOT_FOUND, message: 'Kiwi does not answer this' }
      tell({ id: message.id, ...(isPing ? { result: {} } : { error }) })
      return
    }
    if (message?.kind === 'notice') return
    const asked = message === null ? undefined : waiting.get(message.id)
    if (message === null || asked === undefined) {
      skipped += 1
      return
    }
    if (message.kind === 'result') asked.succeed(message.result)
    else asked.fail(new KiwiError('TOOL_FAILED', `Cannot use "${id}": it says ${shown(message.message)}`))
  }

  const read = async (): Promise<void> => {
    for await (const line of session.lines) take(readMessage(line))
    isOpen = false
    // One that closes its output and lives on is of no more use.
    const { failure, signal, return_code } = await session.close()
    const why = failure === null ? `it ended with ${signal ?? `code ${return_code}`}` : 'it sent too much at once'
    for (const { fail, lost } of waiting.values()) fail(lost(why + lastSaid(session), failure !== null))
  }
  const reading = read()

  return {
    get isOpen() {
      return isOpen
    },
    get skipped() {
      return skipped
    },
    notify: (method, params = {}) => send({ method, params }),
    request({ method, params, timeoutMs, isRepeatable, signal }) {
      if (waiting.size >= MOST_OPEN) throw new KiwiError('OVERLOADED', `Cannot use "${id}": too many calls wait for it`)
      const number = ++lastId
      return new Promise((resolve, reject) => {
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
          if (method !== 'initialize') tell({ method: 'notifications/cancelled', params: { requestId: number, reason } })
        }
        const cancel = (): void =>
          giveUp(new KiwiError('CANCELLED', `Cannot use "${id}": the call was cancelled`), 'cancelled')
        const timer = setTimeout(() => giveUp(tooLate(id, timeoutMs, isRepeatable), 'timeout'), timeoutMs)
        waiting.set(number, {
          succeed(result) {
            end()
            resolve(result)
          },
          fail,
          lost: (why, isTooLarge) => lostError(id, why, isRepeatable, isTooLarge),
        })
        signal?.addEventListener('abort', cancel)
        if (signal?.aborted === true) return cancel()
        // What could not be written was not asked.
        send({ id: number, method, params }).catch((error: unknown) => {
          fail(new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it has ended`, { cause: error }))
        })
      })
    },
    async close() {
      isOpen = false
      await session.close()
      await reading
    },
  }
}

const CHECK_FIRST = 'Check whether it took effect before you send it again'

function tooLate(id: string, timeoutMs: number, isRepeatable: boolean): KiwiError {
  return new KiwiError('TIMEOUT', `Cannot use "${id}": it took longer than ${timeoutMs / 1000} s`, (isRepeatable ? {} : { retryable: false, hint: CHECK_FIRST }))
}

function lostError(id: string, why: string, isRepeatable: boolean, isTooLarge: boolean): KiwiError {
  const code = isRepeatable ? (isTooLarge ? 'MESSAGE_TOO_LARGE' : 'UPSTREAM_UNAVAILABLE') : 'OUTCOME_UNKNOWN'
  return new KiwiError(code, `Cannot use "${id}": ${why}`, (code === 'UPSTREAM_UNAVAILABLE' ? { hint: 'Send the call again: it is started anew' } : {}))
}

function shown(said: string): string {
  return JSON.stringify(said.slice(0, SAID_CHARACTERS))
}

/** The end of what it wrote beside its messages tells most. */
function lastSaid(session: ProcessSession): string {
  const line = session.stderr().trimEnd().split('\n').at(-1) ?? ''
  return line === '' ? '' : `: ${line.slice(0, SAID_CHARACTERS)}`
}
