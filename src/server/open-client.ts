import type { Server, ServerContext } from '@modelcontextprotocol/server'
import type { Client } from '../meta/meta.ts'
import type { Endpoint } from './build-server.ts'
import { createRoot } from './client-root.ts'

/** Whoever is at the other end of a server. */
interface OpenedClient {
  /** As a request of it is made: it may be asked for its root within that. */
  readonly clientOf: (ctx: ServerContext) => Client
  /** The folder it is known to work in. */
  readonly project: () => string | null
}

interface ClientMeans {
  readonly endpoint: Endpoint
  readonly era: 'legacy' | 'modern'
  readonly session: string
}

export function openClient(server: Server, { endpoint, era, session }: ClientMeans): OpenedClient {
  const { principal, folder } = endpoint
  const root = createRoot(folder)
  server.setNotificationHandler('notifications/roots/list_changed', () => root.forget())
  const hasRoots = (): boolean => era === 'legacy' && server.getClientCapabilities()?.roots !== undefined
  return {
    clientOf: (ctx) => ({
      principal,
      session,
      isShared: era === 'modern' && endpoint.hasManyClients === true,
      kind: 'agent',
      protocol: server.getNegotiatedProtocolVersion(),
      defaultProject: () => (hasRoots() ? root.of(ctx) : folder),
    }),
    project: () => (hasRoots() ? root.known : folder),
  }
}
