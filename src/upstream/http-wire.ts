import type { HttpClient } from '../primitives/http/http-client.ts'
import type { HttpResult } from '../primitives/http/result.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { openInbox } from './inbox.ts'
import { isStateless, messageHeaders } from './message-headers.ts'
import { cancelled } from './pending.ts'
import { readAnswer } from './read-answer.ts'
import type { Remote } from './remote.ts'
import { goingOn, openRemoteLine } from './remote.ts'
import type { Wire, WireEnd } from './wire.ts'

const SESSION = 'mcp-session-id'
/** For what is only told: nobody waits for it. */
const TOLD_MS = 30_000
const GOODBYE_MS = 2000
const LISTEN = { reconnect: true, reconnectDelayMs: 1000, maxReconnects: 1000 } as const

/** Streamable HTTP, with and without sessions: each message is a request of its own, and nothing is opened before the first. */
export function openHttpWire(remote: Remote, httpClient: HttpClient): Wire {
  const { id } = remote
  const line = openRemoteLine(remote, httpClient)
  const inbox = openInbox()
  const open = new Set<AbortController>()
  let session: string | null = null
  let protocol: string | null = null
  let closing: Promise<WireEnd> | null = null
  let settle = (_end: WireEnd): void => {}
  const ended = new Promise<WireEnd>((resolve) => {
    settle = resolve
  })

  /** Ends with the caller's signal and with the wire. */
  const during = async <T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const controller = new AbortController()
    const abort = (): void => controller.abort()
    signal?.addEventListener('abort', abort, { once: true })
    open.add(controller)
    try {
      if (closing !== null || signal?.aborted === true) throw cancelled(id)
      return await work(controller.signal)
    } catch (error) {
      throw controller.signal.aborted ? cancelled(id) : error
    } finally {
      signal?.removeEventListener('abort', abort)
      open.delete(controller)
    }
  }

  const headersOf = (): Record<string, string> => ({
    ...(session === null ? {} : { [SESSION]: session }),
    ...(protocol === null ? {} : { 'mcp-protocol-version': protocol }),
  })

  const resume = (signal: AbortSignal) => (lastId: string, waitMs: number) =>
    line.events(
      { method: 'GET', headers: { ...headersOf(), ...goingOn(lastId) } },
      { ...LISTEN, reconnectDelayMs: waitMs, maxReconnects: 10, idleTimeoutMs: Number.POSITIVE_INFINITY },
      signal,
    )

  /** What the server says by itself. Many have no such stream, and all others answer without it too. */
  const listen = async (): Promise<void> => {
    try {
      await during(undefined, async (signal) => {
        const options = { ...LISTEN, idleTimeoutMs: Number.POSITIVE_INFINITY }
        for await (const { event, data } of line.events(
          { method: 'GET', headers: headersOf() },
          options,
          signal,
        )) {
          if (event === 'message' && data !== '') await inbox.push(data)
        }
      })
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
    }
  }

  const end = (reason: string): Promise<WireEnd> => {
    closing ??= (async () => {
      for (const controller of open) controller.abort()
      if (session !== null) await sayGoodbye(headersOf())
      inbox.end()
      const wireEnd = { reason, isTooLarge: false }
      settle(wireEnd)
      return wireEnd
    })()
    return closing
  }

  const sayGoodbye = async (headers: Record<string, string>): Promise<void> => {
    const never = new AbortController().signal
    const order = { method: 'DELETE', headers, timeoutMs: GOODBYE_MS } as const
    // It is over for us in any case.
    await line.open(order, never).then(
      ({ close }) => close(),
      () => undefined,
    )
  }

  const post = async (
    message: JsonObject,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<void> => {
    const number = isRequest(message) ? message['id'] : null
    const order = {
      method: 'POST',
      headers: { ...headersOf(), ...messageHeaders(message), ...headers, ...CONTENT },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      ...(number === null ? { timeoutMs: TOLD_MS } : {}),
    } as const
    const isFirst = message['method'] === 'initialize'
    const asked = session
    const stream = await line.open(order, signal)
    const { result } = stream
    if (!result.success) {
      const answer = number === null ? null : errorIn(result, number)
      if (answer !== null) return inbox.push(answer)
      if (result.status_code !== 404 || asked === null) throw line.refused(result)
      session = null
      void end('it no longer knows the session')
      throw new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it no longer knows the session`, {
        hint: 'Send the call again: a new session is opened',
      })
    }
    if (isFirst) session = result.headers[SESSION] ?? null
    const push = (text: string): Promise<void> => inbox.push(text)
    await readAnswer(stream, {
      id,
      number,
      signal,
      push,
      resume: isStateless(protocol) ? null : resume(signal),
    })
  }

  return {
    messages: inbox.messages,
    ended,
    agree(agreed) {
      protocol = agreed
    },
    said: () => '',
    async send(message, signal, headers = {}) {
      // Without sessions, letting go of the request is what cancels it.
      if (isStateless(protocol) && message['method'] === 'notifications/cancelled') return
      await during(signal, (own) => post(message, headers, own))
      if (message['method'] === 'notifications/initialized') void listen()
    },
    close: () => end('it was closed'),
  }
}

const CONTENT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function isRequest(message: JsonObject): message is JsonObject & { readonly id: number } {
  return typeof message['method'] === 'string' && typeof message['id'] === 'number'
}

/** A refusal that is itself the answer to the request. */
function errorIn({ body }: HttpResult, number: number): string | null {
  if (!isJsonObject(body) || body['id'] !== number || !isJsonObject(body['error'])) return null
  return JSON.stringify(body)
}
