import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import type * as SdkModule from '@modelcontextprotocol/client'
import { KiwiError } from '../../shared/errors.ts'
import type { Fetch } from './fetch-over.ts'
import { mismatch, noLogins, sdkFailure } from './failures.ts'
import { isLocalAddress } from '../../primitives/http/local-address.ts'
import { LOOPBACK } from './login-hosts.ts'
import type { LoginTarget } from './terms.ts'

/** Who gives logins to a server, as it and they themselves say. */
export interface Authority {
  readonly issuer: string
  readonly metadata: AuthorizationServerMetadata
  /** What a token is asked for, in the words of the server. */
  readonly resource: string | null
  /** What the server offers; what it asked for in a refusal counts more. */
  readonly scopes: readonly string[]
}

export type Sdk = typeof SdkModule

/** Takes longer to load than a call may: only a login needs it. */
export function loadSdk(): Promise<Sdk> {
  return import('@modelcontextprotocol/client')
}

/** What a server says when it refuses: where its metadata is, and what a login must be good for. */
export interface Challenge {
  readonly metadataUrl: URL | null
  readonly scope: string | null
}

/** Reads the header WWW-Authenticate; '' for none. */
export function readChallenge({ extractWWWAuthenticateParams }: Sdk, header: string): Challenge {
  const headers = header === '' ? {} : { 'www-authenticate': header }
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(new Response(null, { headers }))
  return { metadataUrl: resourceMetadataUrl ?? null, scope: scope ?? null }
}

/** Asks the server who gives logins to it, and them how; nothing of it is believed that the other side does not confirm. */
export async function findAuthority(
  sdk: Sdk,
  target: LoginTarget,
  { metadataUrl }: Pick<Challenge, 'metadataUrl'>,
  fetchFor: (issuer: string | null) => Fetch,
): Promise<Authority> {
  const { id, url } = target
  const described = await describeResource(sdk, target, metadataUrl, fetchFor(null))
  if (
    described !== null &&
    !sdk.checkResourceAllowed({ requestedResource: url, configuredResource: described.resource })
  ) {
    throw mismatch(id, 'its metadata is that of another server')
  }
  const issuer = issuerOf(target, described?.authorization_servers ?? [new URL('/', url).href])
  const isNamed = described !== null || target.terms.isSaid
  const said = await metadataAt(sdk, target, issuer, fetchFor(issuer))
  if (said === undefined && !isNamed) throw noLogins(id)
  const metadata = checked(target, issuer, said)
  return {
    issuer: metadata.issuer,
    metadata,
    resource: described?.resource ?? null,
    scopes: described?.scopes_supported ?? [],
  }
}

/** The metadata of an issuer that is known; one that says another name of itself is not the one that was asked. */
export async function authorityAt(
  sdk: Sdk,
  target: LoginTarget,
  issuer: string,
  fetch: Fetch,
): Promise<AuthorizationServerMetadata> {
  return checked(target, issuer, await metadataAt(sdk, target, issuer, fetch))
}

async function metadataAt(
  { discoverAuthorizationServerMetadata }: Sdk,
  target: LoginTarget,
  issuer: string,
  fetchFn: Fetch,
): Promise<AuthorizationServerMetadata | undefined> {
  try {
    return await discoverAuthorizationServerMetadata(issuer, { fetchFn })
  } catch (error) {
    throw sdkFailure(target.id, error)
  }
}

function checked(
  target: LoginTarget,
  issuer: string,
  metadata: AuthorizationServerMetadata | undefined,
): AuthorizationServerMetadata {
  const { id } = target
  if (metadata === undefined) throw mismatch(id, `"${issuer}" does not say how one logs in`)
  const { authorization_endpoint, token_endpoint, registration_endpoint } = metadata
  const endpoints = [authorization_endpoint, token_endpoint, registration_endpoint, revocationOf(metadata)]
  const named = endpoints.filter((address) => address !== null && address !== undefined)
  if (!named.every(isSafe))
    throw mismatch(id, `"${issuer}" names an address that is neither https nor on this machine`)
  if (!isNear(target) && [issuer, ...named].some(isLocalAddress))
    throw mismatch(id, `"${issuer}" names an address on this machine or its network, where the server is not`)
  return metadata
}

/** Whether a person has said themselves that the server, or who gives logins to it, is on this machine or its network. */
export function isNear({ url, terms: { issuer } }: LoginTarget): boolean {
  return isLocalAddress(url) || (issuer !== null && isLocalAddress(issuer))
}

/** Where a login is given back; null where that cannot be done. */
export function revocationOf(metadata: AuthorizationServerMetadata): string | null {
  const address = 'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined
  return typeof address === 'string' ? address : null
}

/** Only https, and http on this machine: everything else is a way to start something, or to be overheard. */
export function isSafe(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
}

type Described = Awaited<ReturnType<Sdk['discoverOAuthProtectedResourceMetadata']>>

/** Null for an older server that has none: then it gives logins itself. */
async function describeResource(
  { discoverOAuthProtectedResourceMetadata }: Sdk,
  { url }: LoginTarget,
  metadataUrl: URL | null,
  fetch: Fetch,
): Promise<Described | null> {
  try {
    const options = metadataUrl === null ? {} : { resourceMetadataUrl: metadataUrl }
    return await discoverOAuthProtectedResourceMetadata(url, options, fetch)
  } catch (error) {
    if (error instanceof KiwiError) throw error
    return null
  }
}

function issuerOf({ id, terms }: LoginTarget, named: readonly string[]): string {
  const [first] = named
  const issuer = terms.issuer === null ? first : named.find((each) => isSameIssuer(each, terms.issuer ?? ''))
  if (issuer !== undefined) return issuer
  throw mismatch(id, 'it does not name the issuer that its config does')
}

/** A slash at the end makes no other issuer. */
export function isSameIssuer(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '')
}
