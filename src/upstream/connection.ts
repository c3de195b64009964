import type { ProcessSession } from '../primitives/subprocess/process-session.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { VERSION } from '../shared/version.ts'
import type { Patience } from './pending.ts'
import { cancelled, openPending } from './pending.ts'
import type { Message } from './read-message.ts'
import { readMessage } from './read-message.ts'

/** A request on its way to an upstream. */
export interface UpstreamRequest extends Patience {
  readonly method: string
  readonly params: JsonObject
}

/** One upstream that is up: any number of requests at once, told apart by their numbers. */
export interface Connection {
  /** Fails with CANCELLED, TIMEOUT, TOOL_FAILED, MESSAGE_TOO_LARGE, UPSTREAM_UNAVAILABLE or OUTCOME_UNKNOWN. */
  request(request: UpstreamRequest): Promise<JsonObject>
  /** False from the moment on that nothing can be asked any more. */
  readonly isOpen: boolean
  close(): Promise<void>
}

const PROTOCOL_VERSION = '2025-11-25'
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
    await connection.close()
    if (!(error instanceof KiwiError) || error.code !== 'TIMEOUT') throw error
    const { skipped } = connection
    const noise = skipped === 0 ? '' : `; it wrote ${skipped} lines that are no messages`
    throw new KiwiError(
      'UPSTREAM_UNAVAILABLE',
      `Cannot start "${id}": it does not answer${noise}${lastSaid(session)}`,
      { cause: error },
    )
  }
}

interface Speaking extends Connection {
  notify(method: string): Promise<void>
  /** Lines that were no messages, and answers that nobody waited for. */
  readonly skipped: number
}

function speak(id: string, session: ProcessSession): Speaking {
  const pending = openPending(id)
  let skipped = 0
  let isOpen = true

  const send = (message: JsonObject): Promise<void> =>
    session.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  /** What is only told need not arrive. */
  const tell = (message: JsonObject): void => void send(message).catch(() => {})

  const take = (message: Message | null): void => {
    if (message?.kind === 'notice') return
    if (message?.kind === 'request') {
      const error = { code: METHOD_NOT_FOUND, message: 'Kiwi does not answer this' }
      tell({ id: message.id, ...(message.method === 'ping' ? { result: {} } : { error }) })
      return
    }
    if (message === null || !pending.settle(message)) skipped += 1
  }

  const read = async (): Promise<void> => {
    for await (const line of session.lines) take(readMessage(line))
    isOpen = false
    // One that closes its output and lives on is of no more use.
    const { failure, signal, return_code } = await session.close()
    const end = failure === null ? `it ended with ${signal ?? `code ${return_code}`}` : TOO_MUCH
    pending.loseAll(end + lastSaid(session), failure !== null)
  }
  const reading = read()

  return {
    get isOpen() {
      return isOpen
    },
    get skipped() {
      return skipped
    },
    notify: (method) => send({ method }),
    async request({ method, params, ...patience }) {
      if (patience.signal?.aborted === true) throw cancelled(id)
      const { number, answer, fail } = pending.wait(patience, (requestId, reason) =>
        tell({ method: 'notifications/cancelled', params: { requestId, reason } }),
      )
      // What could not be written was not asked.
      send({ id: number, method, params }).catch((error: unknown) =>
        fail(new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it has ended`, { cause: error })),
      )
      return answer
    },
    async close() {
      isOpen = false
      await session.close()
      await reading
    },
  }
}

const TOO_MUCH = 'it sent more at once than is taken'

/** The end of what it wrote beside its messages tells most. */
function lastSaid(session: ProcessSession): string {
  const line = session.stderr().trimEnd().split('\n').at(-1) ?? ''
  return line === '' ? '' : `: ${line.slice(0, SAID_CHARACTERS)}`
}
