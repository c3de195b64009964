import { destinationOf } from '../primitives/http/egress-guard.ts'
import type { HttpClient } from '../primitives/http/http-client.ts'
import { openHttpClient } from '../primitives/http/http-client.ts'
import type { Clock } from '../shared/clock.ts'
import type { Plan } from './plan.ts'
import { literalHost } from './url-template.ts'

/** The ways out to the network: one for all, and one for each address that a person named a server at. */
export interface HttpClients {
  readonly common: HttpClient
  /**
   * What this server is reached by. Where a person wrote its address, that is their word for this host and port, be it
   * public or not; by a client of its own, so that neither the word nor a connection serves anything else.
   */
  of(server: Plan): HttpClient
  close(): Promise<void>
}

export function openHttpClients(allowHosts: readonly string[], clock: Clock): HttpClients {
  const common = openHttpClient({ allowHosts, clock })
  const own = new Map<string, HttpClient>()
  return {
    common,
    of(server) {
      const host = namedHost(server)
      if (host === null) return common
      const client = own.get(host) ?? openHttpClient({ allowHosts: [...allowHosts, host], clock })
      own.set(host, client)
      return client
    },
    async close() {
      await Promise.all([common, ...own.values()].map((client) => client.close()))
    },
  }
}

/** The `host:port` that a person wrote; null where an agent, a variable or an untrusted project says it. */
function namedHost({ item, effect, trust }: Plan): string | null {
  if (effect.kind !== 'mcp' || effect.server.kind !== 'remote' || !trust.isProjectTrusted) return null
  const link = trust.links.find((candidate) => candidate.item.id === item.id)
  const isSigned = link?.signature?.state === 'signed' && link.signature.by === 'person'
  // No tool writes the list of servers.
  if (item.form !== 'entry' && !isSigned) return null
  const { url } = effect.server.request
  if (literalHost(url) === null) return null
  const [scheme = ''] = url.source.split('//', 1)
  const { host, port } = destinationOf(new URL(`${scheme}//${literalHost(url)}`))
  return `${host}:${port}`
}
