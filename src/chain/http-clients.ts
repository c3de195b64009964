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
  /** What reaches these `host:port` too. */
  reaching(hosts: readonly string[]): HttpClient
  close(): Promise<void>
}

export function openHttpClients(allowHosts: readonly string[], clock: Clock): HttpClients {
  const common = openHttpClient({ allowHosts, clock })
  const own = new Map<string, HttpClient>()
  const reaching = (hosts: readonly string[]): HttpClient => {
    if (hosts.length === 0) return common
    const key = hosts.join(' ')
    const client = own.get(key) ?? openHttpClient({ allowHosts: [...allowHosts, ...hosts], clock })
    own.set(key, client)
    return client
  }
  return {
    common,
    reaching,
    of(server) {
      const host = namedHost(server)
      return reaching(host === null ? [] : [host])
    },
    async close() {
      await Promise.all([common, ...own.values()].map((client) => client.close()))
    },
  }
}

/** The `host:port` that a person wrote; null where an agent, a variable or an untrusted project says it. */
export function namedHost({ item, effect, trust }: Plan): string | null {
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
