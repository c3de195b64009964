import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import {
  isInitializeRequest,
  McpServer,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { Clock } from '../shared/clock.ts'
import { isObject } from '../shared/json.ts'
import { laneOf } from './call-lane.ts'
import type { CallResponse } from './call-response.ts'
import { callResponse } from './call-response.ts'

/** Clients of the older era keep a session: one server object each, found by its id. */
export interface LegacySessions {
  /**
   * Answers a request of a session, or of a client that opens one. Otherwise says why not: the session is unknown,
   * none was named, or none can be opened because all of them are at work.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<'answered' | 'unknown' | 'missing' | 'full'>
  /** Answers a call of a session the short way; false for what has to be read by the SDK. */
  take(request: IncomingMessage, response: ServerResponse, body: unknown): boolean
  close(): Promise<void>
}

export const MOST_SESSIONS = 100
export const IDLE_MS = 30 * 60 * 1000

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport
  readonly lane: Lane | null
  usedAt: number
  /** Requests that have no full answer yet, a stream the client listens on among them. */
  inFlight: number
}

export function openLegacySessions(build: McpServerFactory, clock: Clock): LegacySessions {
  const sessions = new Map<string, Session>()

  const drop = (id: string, { transport, lane }: Session): void => {
    sessions.delete(id)
    lane?.close()
    void transport.close()
  }

  /** Closes what is idle; when all places are still taken, the session used longest ago. Many clients never say goodbye. */
  const makeRoom = (): boolean => {
    const resting = [...sessions]
      .filter(([, { inFlight }]) => inFlight === 0)
      .toSorted(([, one], [, other]) => one.usedAt - other.usedAt)
    for (const [id, session] of resting) {
      const isIdle = clock.monotonic() - session.usedAt > IDLE_MS
      if (!isIdle && sessions.size < MOST_SESSIONS) break
      drop(id, session)
    }
    return sessions.size < MOST_SESSIONS
  }

  const open = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const built = await build({ era: 'legacy' })
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) =>
        void sessions.set(id, { transport, lane, usedAt: clock.monotonic(), inFlight: 0 }),
      onsessionclosed: (id) => {
        lane?.close()
        sessions.delete(id)
      },
    })
    const lane = openLane(built, transport)
    await built.connect(transport)
    return transport
  }

  /** A session is used as long as a request of it has no full answer. */
  const use = (session: Session, response: ServerResponse): void => {
    session.inFlight += 1
    finished(response, () => {
      session.inFlight -= 1
      session.usedAt = clock.monotonic()
    })
  }

  return {
    async handle(request, response, body) {
      const id = request.headers['mcp-session-id']
      const known = typeof id === 'string' ? sessions.get(id) : undefined
      if (known !== undefined) {
        use(known, response)
        await known.transport.handleRequest(request, response, body)
        return 'answered'
      }
      if (id !== undefined) return 'unknown'
      if (!isInitializeRequest(body)) return 'missing'
      if (!makeRoom()) return 'full'
      const transport = await open()
      await transport.handleRequest(request, response, body)
      return 'answered'
    },
    take(request, response, body) {
      const id = request.headers['mcp-session-id']
      const known = typeof id === 'string' ? sessions.get(id) : undefined
      if (known === undefined || known.lane === null || !isPlain(request, body)) return false
      const isTaken = known.lane.take(body, callResponse(response, String(id)))
      if (isTaken) use(known, response)
      return isTaken
    },
    async close() {
      for (const { lane } of sessions.values()) lane?.close()
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    },
  }
}

/** The short way of a session's calls, with what is said within one of them. */
interface Lane {
  take(body: unknown, response: CallResponse): boolean
  close(): void
}

function openLane(
  built: Awaited<ReturnType<McpServerFactory>>,
  transport: NodeStreamableHTTPServerTransport,
): Lane | null {
  const lane = laneOf(built instanceof McpServer ? built.server : built)
  if (lane === null) return null
  const responses = new Map<unknown, CallResponse>()
  const send = transport.send.bind(transport)
  transport.send = async (message, options) => {
    const response = responses.get(options?.relatedRequestId)
    if (response === undefined) return send(message, options)
    response.say(message)
  }
  return {
    take(body, response) {
      if (!isObject(body)) return false
      if (body['method'] === 'notifications/cancelled') {
        const isTaken = lane.take(body, () => undefined)
        if (isTaken) response.answer(null)
        return isTaken
      }
      if (body['method'] !== 'tools/call') return false
      const { id } = body
      const isTaken = lane.take(body, (answer) => {
        responses.delete(id)
        response.answer(answer)
      })
      if (isTaken) responses.set(id, response)
      return isTaken
    },
    close: () => lane.close(),
  }
}

/** Nothing of the newer era, and a client that takes both kinds of answers: all else the SDK answers. */
function isPlain({ headers }: IncomingMessage, body: unknown): boolean {
  const { accept = '', 'mcp-method': method, 'mcp-protocol-version': version } = headers
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) return false
  const params = isObject(body) ? body['params'] : undefined
  const meta = isObject(params) ? params['_meta'] : undefined
  const isNewer = isObject(meta) && PROTOCOL_VERSION_META_KEY in meta
  return !isNewer && method === undefined && (version === undefined || OLDER.has(String(version)))
}

const OLDER: ReadonlySet<string> = new Set(SUPPORTED_PROTOCOL_VERSIONS)
