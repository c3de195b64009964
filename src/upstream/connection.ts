import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { VERSION } from '../shared/version.ts'
import { cancelled, openPending } from './pending.ts'
import type { Message } from './read-message.ts'
import { readMessage } from './read-message.ts'
import type { Description, UpstreamRequest } from './upstream.ts'
import type { Wire } from './wire.ts'

/** One upstream that is up: any number of requests at once, told apart by their numbers. */
export interface Connection {
  readonly description: Description
  /** Fails with CANCELLED, TIMEOUT, TOOL_FAILED, MESSAGE_TOO_LARGE, UPSTREAM_UNAVAILABLE or OUTCOME_UNKNOWN. */
  request(request: UpstreamRequest): Promise<JsonObject>
  /** What is only told need not arrive. */
  notify(method: string, params?: JsonObject): void
  /** False from the moment on that nothing can be asked any more. */
  readonly isOpen: boolean
  close(): Promise<void>
}

const PROTOCOL_VERSION = '2025-11-25'
const SAID_CHARACTERS = 500
const METHOD_NOT_FOUND = -32601

/** Speaks the handshake; an upstream that does not answer it in time is ended. `id` is how people know it. */
export async function connect(id: string, wire: Wire, startupMs: number): Promise<Connection> {
  const speaking = speak(id, wire)
  try {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'kiwi-mcp', version: VERSION },
    }
    const result = await speaking.request({
      method: 'initialize',
      params,
      timeoutMs: startupMs,
      isRepeatable: true,
    })
    const description = legacyDescription(result)
    wire.agree(description.protocol)
    speaking.notify('notifications/initialized')
    const { request, notify, close } = speaking
    return {
      description,
      request,
      notify,
      close,
      get isOpen() {
        return speaking.isOpen
      },
    }
  } catch (error) {
    await speaking.close()
    if (!(error instanceof KiwiError) || error.code !== 'TIMEOUT') throw error
    const { skipped } = speaking
    const noise = skipped === 0 ? '' : `; it wrote ${skipped} lines that are no messages`
    throw new KiwiError(
      'UPSTREAM_UNAVAILABLE',
      `Cannot start "${id}": it does not answer${noise}${lastSaid(wire)}`,
      { cause: error },
    )
  }
}

function legacyDescription(result: JsonObject): Description {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  return {
    era: 'legacy',
    protocol: typeof protocolVersion === 'string' ? protocolVersion : PROTOCOL_VERSION,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    serverInfo: isJsonObject(serverInfo) ? serverInfo : {},
    instructions: typeof instructions === 'string' ? instructions : null,
    judgedAt: Date.now(),
  }
}

interface Speaking extends Omit<Connection, 'description'> {
  /** Lines that were no messages, and answers that nobody waited for. */
  readonly skipped: number
}

function speak(id: string, wire: Wire): Speaking {
  const pending = openPending(id)
  let skipped = 0
  let isOpen = true

  const send = (message: JsonObject): Promise<void> => wire.send({ jsonrpc: '2.0', ...message })
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
    for await (const line of wire.messages) take(readMessage(line))
    isOpen = false
    // One that closes its output and lives on is of no more use.
    const { reason, isTooLarge } = await wire.close()
    pending.loseAll(reason + lastSaid(wire), isTooLarge)
  }
  const reading = read()

  return {
    get isOpen() {
      return isOpen
    },
    get skipped() {
      return skipped
    },
    notify: (method, params) => tell({ method, ...(params === undefined ? {} : { params }) }),
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
      await wire.close()
      await reading
    },
  }
}

/** The end of what it wrote beside its messages tells most. */
function lastSaid(wire: Wire): string {
  const line = wire.said().trimEnd().split('\n').at(-1) ?? ''
  return line === '' ? '' : `: ${line.slice(0, SAID_CHARACTERS)}`
}
