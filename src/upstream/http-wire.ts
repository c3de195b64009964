import type { HttpClient } from '../primitives/http/http-client.ts'
import type { HttpResult } from '../primitives/http/result.ts'
import type { ServerSentEvent } from '../primitives/http/sse-parser.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Ending } from './ending.ts'
import { openEnding } from './ending.ts'
import type { Inbox } from './inbox.ts'
import { openInbox } from './inbox.ts'
import { isStateless, messageHeaders } from './message-headers.ts'
import { readAnswer } from './read-answer.ts'
import type { Remote, RemoteLine } from './remote.ts'
import { goingOn, openRemoteLine } from './remote.ts'
import type { Wire, WireEnd } from './wire.ts'

/** Streamable HTTP, with and without sessions: each message is a request of its own, and nothing is opened before the first. */
export function openHttpWire(remote: Remote, httpClient: HttpClient): Wire {
  return new HttpWire(remote.id, openRemoteLine(remote, httpClient))
}

const SESSION = 'mcp-session-id'
const CONTENT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
/** For what is only told: nobody waits for it. */
const TOLD_MS = 30_000
const GOODBYE_MS = 2000
const RECONNECT_MS = 1000
/** Connections in a row that bring nothing: while an answer is waited for, and for what comes by itself. */
const MOST_FRUITLESS = { answer: 10, notices: 1000 } as const

class HttpWire implements Wire {
  readonly #id: string
  readonly #line: RemoteLine
  readonly #inbox: Inbox = openInbox()
  readonly #ending: Ending
  #session: string | null = null
  #protocol: string | null = null
  /** What comes after the greeting must not overtake it: each message has a connection of its own. */
  #greeting: Promise<void> = Promise.resolve()

  constructor(id: string, line: RemoteLine) {
    this.#id = id
    this.#line = line
    this.#ending = openEnding(id)
  }

  get messages(): AsyncIterable<string> {
    return this.#inbox.messages
  }

  get ended(): Promise<WireEnd> {
    return this.#ending.ended
  }

  agree(protocol: string): void {
    this.#protocol = protocol
  }

  said(): string {
    return ''
  }

  close(): Promise<WireEnd> {
    return this.#end('it was closed')
  }

  async send(
    message: JsonObject,
    signal?: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    // Without sessions, letting go of the request is what cancels it.
    if (isStateless(this.#protocol) && message['method'] === 'notifications/cancelled') return
    await this.#greeting
    const sent = this.#ending.during(signal, (own) => this.#post(message, headers, own))
    if (message['method'] !== 'notifications/initialized') return sent
    this.#greeting = sent.catch(() => undefined)
    await sent
    void this.#listen()
  }

  async #post(
    message: JsonObject,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const number = isRequest(message) ? message.id : null
    const session = this.#session
    const stream = await this.#line.open(
      {
        method: 'POST',
        headers: { ...this.#headers(), ...messageHeaders(message), ...headers, ...CONTENT },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        ...(number === null ? { timeoutMs: TOLD_MS } : {}),
      },
      signal,
    )
    const { result } = stream
    if (!result.success) {
      const answer = number === null ? null : errorIn(result, number)
      if (session !== null && isForgotten(result, answer !== null)) throw this.#lost()
      if (answer !== null) return this.#inbox.push(answer)
      throw this.#line.refused(result)
    }
    if (message['method'] === 'initialize') this.#session = result.headers[SESSION] ?? null
    await readAnswer(stream, {
      id: this.#id,
      number,
      signal,
      push: (text) => this.#inbox.push(text),
      resume: isStateless(this.#protocol) ? null : (lastId, waitMs) => this.#resume(lastId, waitMs, signal),
    })
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#session === null ? {} : { [SESSION]: this.#session }),
      ...(this.#protocol === null ? {} : { 'mcp-protocol-version': this.#protocol }),
    }
  }

  #resume(lastId: string, waitMs: number, signal: AbortSignal): AsyncIterable<ServerSentEvent> {
    const order = { method: 'GET', headers: { ...this.#headers(), ...goingOn(lastId) } } as const
    return this.#line.events(order, listening(waitMs, MOST_FRUITLESS.answer), signal)
  }

  /** What the server says by itself. Many have no such stream, and all others answer without it too. */
  async #listen(): Promise<void> {
    const order = { method: 'GET', headers: this.#headers() } as const
    try {
      await this.#ending.during(undefined, async (signal) => {
        const options = listening(RECONNECT_MS, MOST_FRUITLESS.notices)
        for await (const { event, data } of this.#line.events(order, options, signal)) {
          if (event === 'message' && data !== '') await this.#inbox.push(data)
        }
      })
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
    }
  }

  /** The request was refused, not made: it may be sent again, over another wire. */
  #lost(): KiwiError {
    this.#session = null
    const reason = 'it no longer knows the session'
    void this.#end(reason)
    return new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${this.#id}": ${reason}`, {
      hint: 'Send the call again: a new session is opened',
    })
  }

  #end(reason: string): Promise<WireEnd> {
    return this.#ending.end(reason, async () => {
      this.#inbox.end()
      if (this.#session === null) return
      const order = { method: 'DELETE', headers: this.#headers(), timeoutMs: GOODBYE_MS } as const
      // It is over for us in any case.
      await this.#line.open(order, new AbortController().signal).then(
        (stream) => stream.close(),
        () => undefined,
      )
    })
  }
}

function listening(reconnectDelayMs: number, maxReconnects: number): Parameters<RemoteLine['events']>[1] {
  const idleTimeoutMs = Number.POSITIVE_INFINITY
  return { reconnect: true, reconnectDelayMs, maxReconnects, idleTimeoutMs, maxEventBytes: LIMITS.lineBytes }
}

function isRequest(message: JsonObject): message is JsonObject & { readonly id: number } {
  return typeof message['method'] === 'string' && typeof message['id'] === 'number'
}

/** Whether it knows the session no more. The protocol says 404; what many servers are copied from says 400, in words. */
function isForgotten({ status_code: status, body }: HttpResult, isAnswer: boolean): boolean {
  if (status !== 404 && status !== 400) return false
  if (status === 404 && !isAnswer) return true
  const error = isJsonObject(body) ? body['error'] : body
  const said = isJsonObject(error) ? error['message'] : error
  return typeof said === 'string' && /session|not initialized/i.test(said)
}

/** A refusal that is itself the answer to the request. */
function errorIn({ body }: HttpResult, number: number): string | null {
  if (!isJsonObject(body) || body['id'] !== number || !isJsonObject(body['error'])) return null
  return JSON.stringify(body)
}
