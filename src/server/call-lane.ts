import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { ProtocolError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { messageOf } from '../shared/errors.ts'
import { isObject } from '../shared/json.ts'
import type { Stop, Stopper } from '../shared/stop.ts'
import { openStopper } from '../shared/stop.ts'
import { withoutMeta } from '../shared/without-meta.ts'

/** Answers `tools/call`, as a handler of the SDK does. */
export type Respond = (params: CallParams, ctx: ServerContext) => Promise<object>

export interface CallParams {
  readonly name: string
  readonly arguments?: Record<string, unknown> | undefined
}

/**
 * The short way of a call: what clients of the older era send most is read, answered and cancelled here by the rules of
 * the SDK, whose own way takes several times as long. Everything else is left to the SDK.
 */
export interface CallLane {
  /** False for what is not taken. A call that was cancelled is answered with null: nobody waits for it. */
  take(message: unknown, answer: (message: object | null) => void): boolean
  /** Ends every call that runs. */
  close(): void
}

const INTERNAL_ERROR = -32_603

function openCallLane(server: Server, respond: Respond): CallLane {
  const running = new Map<string | number, Stopper>()

  const run = async (
    { id, params }: CallMessage,
    answer: (message: object | null) => void,
  ): Promise<void> => {
    const stopper = openStopper()
    running.set(id, stopper)
    const { signal } = stopper
    const { _meta: meta } = params
    const ended = await respond(
      meta === undefined ? params : withoutMeta(params),
      contextOf(server, { id, meta, signal }),
    ).then(
      (result) => ({ jsonrpc: '2.0', id, result }),
      (error: unknown) => ({ jsonrpc: '2.0', id, error: errorOf(error) }),
    )
    running.delete(id)
    answer(signal.aborted ? null : ended)
  }

  return {
    take(message, answer) {
      if (!isObject(message)) return false
      if (message['method'] === 'notifications/cancelled') {
        const { params } = message
        const asked = isObject(params) ? Id.safeParse(params['requestId']).data : undefined
        const cancelled = asked === undefined ? undefined : running.get(asked)
        cancelled?.abort()
        return cancelled !== undefined
      }
      if (!isCall(message) || server.getNegotiatedProtocolVersion() === undefined) return false
      if (running.has(message.id)) return false
      void run(message, answer)
      return true
    },
    close() {
      for (const stopper of running.values()) stopper.abort()
    },
  }
}

const Id = z.union([z.string(), z.number()])

interface CallMessage {
  readonly id: string | number
  readonly params: CallParams & { readonly _meta?: ServerContext['mcpReq']['_meta'] }
}

/** Only what has exactly the form; what is wrong with the rest, the SDK says. */
function isCall(message: Record<string, unknown>): message is Record<string, unknown> & CallMessage {
  const { jsonrpc, id, method, params } = message
  if (method !== 'tools/call' || jsonrpc !== '2.0' || !isObject(params)) return false
  const { name, arguments: args, _meta: meta } = params
  return (
    (typeof id === 'string' || Number.isSafeInteger(id)) &&
    typeof name === 'string' &&
    (args === undefined || isObject(args)) &&
    (meta === undefined || (isObject(meta) && isToken(meta['progressToken'])))
  )
}

function isToken(token: unknown): boolean {
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

interface Origin {
  readonly id: string | number
  readonly meta: ServerContext['mcpReq']['_meta']
  readonly signal: Stop
}

/** As much of the SDK's context as handlers of the older era use. */
function contextOf(server: Server, { id, meta, signal }: Origin): ServerContext {
  const related = { relatedRequestId: id }
  const mcpReq = {
    id,
    method: 'tools/call',
    _meta: meta,
    signal,
    requestState: () => undefined,
    send: (...[request, second, third]: Parameters<Server['request']>) =>
      third === undefined && !isSchema(second)
        ? server.request(request, { ...second, ...related })
        : server.request(request, second, { ...third, ...related }),
    notify: (notification: Parameters<Server['notification']>[0]) =>
      server.notification(notification, related),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is left out belongs to the newer era and to HTTP
  return { mcpReq } as unknown as ServerContext
}

function isSchema(given: unknown): boolean {
  return isObject(given) && '~standard' in given
}

function errorOf(error: unknown): object {
  return error instanceof ProtocolError
    ? { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) }
    : { code: INTERNAL_ERROR, message: messageOf(error) }
}

const offered = new WeakMap<Server, Respond>()

/** The calls of this server may take the short way. */
export function offerLane(server: Server, respond: Respond): void {
  offered.set(server, respond)
}

export function laneOf(server: Server): CallLane | null {
  const respond = offered.get(server)
  return respond === undefined ? null : openCallLane(server, respond)
}
