import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { isInitializeRequest } from '@modelcontextprotocol/server'
import type { Clock } from '../shared/clock.ts'

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
  close(): Promise<void>
}

export const MOST_SESSIONS = 100
export const IDLE_MS = 30 * 60 * 1000

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport
  usedAt: number
  /** Requests that have no full answer yet, a stream the client listens on among them. */
  inFlight: number
}

export function openLegacySessions(build: McpServerFactory, clock: Clock): LegacySessions {
  const sessions = new Map<string, Session>()

  const drop = (id: string, { transport }: Session): void => {
    sessions.delete(id)
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
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) =>
        void sessions.set(id, { transport, usedAt: clock.monotonic(), inFlight: 0 }),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    const server = await build({ era: 'legacy' })
    await server.connect(transport)
    return transport
  }

  return {
    async handle(request, response, body) {
      const id = request.headers['mcp-session-id']
      const known = typeof id === 'string' ? sessions.get(id) : undefined
      if (known !== undefined) {
        known.inFlight += 1
        finished(response, () => {
          known.inFlight -= 1
          known.usedAt = clock.monotonic()
        })
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
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    },
  }
}
