import { destinationOf } from '../../primitives/http/egress-guard.ts'
import type { LoginTarget } from './terms.ts'

/**
 * What a login may reach beside public addresses, as `host:port`: the server where a person put it themselves; and, when
 * that is this machine by the same name, the issuer that the server names, at its one port.
 */
export function loginHosts(
  { named, url }: Pick<LoginTarget, 'named' | 'url'>,
  issuer: string | null,
): readonly string[] {
  if (named === undefined || named === null) return []
  if (issuer === null || !URL.canParse(issuer)) return [named]
  const { host, port } = destinationOf(new URL(issuer))
  const isSame = LOOPBACK.test(host) && host === new URL(url).hostname
  return isSame && `${host}:${port}` !== named ? [named, `${host}:${port}`] : [named]
}

/** As a URL writes it, with nothing to look up but `localhost`. */
export const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/
