import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { isInitializeRequest } from '@modelcontextprotocol/server'
import type { Clock } from '../shared/clock.ts'

/** Clients of the older era keep a session: one server object each, found by its id. */
export interface LegacySessions {
  /** Answers a request of a session, or of a client that opens one. False: there is no such session. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<'answered' | 'unknown' | 'missing' | 'full'>
  close(): Promise<void>
}

const MOST_SESSIONS = 100
const IDLE_MS = 30 * 60 * 1000

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport
  usedAt: number
}

export function openLegacySessions(build: McpServerFactory, clock: Clock): LegacySessions {
  const sessions = new Map<string, Session>()

  const dropIdle = (): void => {
    for (const [id, { transport, usedAt }] of sessions) {
      if (clock.monotonic() - usedAt <= IDLE_MS) continue
      sessions.delete(id)
      void transport.close()
    }
  }

  const open = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, usedAt: clock.monotonic() }),
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
        known.usedAt = clock.monotonic()
        await known.transport.handleRequest(request, response, body)
        return 'answered'
      }
      if (id !== undefined) return 'unknown'
      if (!isInitializeRequest(body)) return 'missing'
      dropIdle()
      if (sessions.size >= MOST_SESSIONS) return 'full'
      const transport = await open()
      await transport.handleRequest(request, response, body)
      return 'answered'
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    },
  }
}
