import type { LookupAddress } from 'node:dns'
import { lookup as lookupName } from 'node:dns/promises'
import { isIP, isIPv6 } from 'node:net'
import { KiwiError } from '../../shared/errors.ts'
import { whyNotPublic } from './public-address.ts'

/** All addresses of a name. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>

/** Where a request goes: the host as the URL writes it, and the port. */
export interface Destination {
  readonly host: string
  readonly port: number
}

/**
 * Lets only public addresses through, and what a person allowed. Literals are judged when the URL is seen, since
 * a connector never looks them up; names when they are resolved, and then exactly what was judged is dialled.
 */
export interface EgressGuard {
  /** Why this URL may not be used, or null. A name passes here: `resolve` judges it. */
  judgeUrl(url: URL, schemes: readonly string[]): KiwiError | null
  /** The addresses to dial; one that is not public refuses them all. */
  resolve(to: Destination): Promise<readonly LookupAddress[]>
  /** The same judgement for the far end of a connection that stands. */
  judgePeer(to: Destination, address: string): KiwiError | null
}

export const HTTP_SCHEMES: readonly string[] = ['http:', 'https:']
export const WEBSOCKET_SCHEMES: readonly string[] = ['ws:', 'wss:']

const resolveName: Lookup = (name) => lookupName(name, { all: true })

/** `allowHosts` holds `host` or `host:port`, each lifting the refusal for exactly that host as a URL writes it. */
export function createEgressGuard(allowHosts: readonly string[], lookup: Lookup = resolveName): EgressGuard {
  const allowed = new Set(allowHosts.map(readAllowed))
  const isAllowed = ({ host, port }: Destination): boolean =>
    allowed.has(host) || allowed.has(`${host}:${port}`)
  const judgePeer = (to: Destination, address: string): KiwiError | null => {
    if (isAllowed(to)) return null
    const why = whyNotPublic(address)
    return why === null ? null : refusal(to.host, `${why} that allow_hosts does not list`)
  }

  return {
    judgePeer,
    judgeUrl(url, schemes) {
      if (!schemes.includes(url.protocol)) {
        return refusal(url.protocol, `only ${schemes.join(' and ')} URLs are allowed`)
      }
      const to = destinationOf(url)
      if (url.username !== '' || url.password !== '') return refusal(to.host, 'its URL holds credentials')
      const literal = bare(to.host)
      return isIP(literal) === 0 ? null : judgePeer(to, literal)
    },
    async resolve(to) {
      const addresses = await lookup(to.host)
      for (const { address } of addresses) {
        const refused = judgePeer(to, address)
        if (refused !== null) throw refused
      }
      return addresses
    },
  }
}

export function destinationOf(url: URL): Destination {
  const isSecure = url.protocol === 'https:' || url.protocol === 'wss:'
  return { host: url.hostname, port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port) }
}

/** A host without the brackets that a URL puts around IPv6. */
export function bare(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host
}

function refusal(host: string, why: string): KiwiError {
  return new KiwiError('EGRESS_DENIED', `Cannot reach "${host}": ${why}`)
}

const ENTRY = /^(\[[^\]]+\]|[\p{L}\p{N}._-]+)(?::(\d{1,5}))?$/u

/** Written the way a URL would write it, so that comparing strings is enough. */
function readAllowed(entry: string): string {
  const [, host = '', port] = ENTRY.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? []
  if (host === '' || !URL.canParse(`http://${host}`)) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot use "${entry}" in allow_hosts: it is no host or host:port`,
      {
        hint: 'Write a name or an address, with ":port" if only that port is meant: localhost:8080, [::1]',
      },
    )
  }
  const { hostname } = new URL(`http://${host}`)
  return port === undefined ? hostname : `${hostname}:${Number(port)}`
}
