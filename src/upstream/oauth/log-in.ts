import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/client'
import type { Callback } from '../../primitives/http/callback.ts'
import { openCallback } from '../../primitives/http/callback.ts'
import { KiwiError } from '../../shared/errors.ts'
import { serverName } from '../../shared/groups.ts'
import type { Stop } from '../../shared/stop.ts'
import type { Login } from '../../store/vault/logins.ts'
import type { Authority, Sdk } from './authority.ts'
import { mismatch, noRegistration, sdkFailure } from './failures.ts'
import type { Fetch } from './fetch-over.ts'
import type { LoginTarget } from './terms.ts'

/** How a person is led to the page where they log in. */
export interface Guide {
  /** Told of the address. */
  readonly show: (address: string) => void
  /** Asked whether the secret of the client may go to an issuer that only the server names. Left out: no. */
  readonly confirm?: ((issuer: string) => Promise<boolean>) | undefined
  readonly signal?: Stop | undefined
}

interface LoginMeans {
  readonly sdk: Sdk
  readonly fetch: Fetch
  readonly now: () => number
}

const CALLBACK_MS = 5 * 60 * 1000

/** A person logs in on a page of the issuer, which answers to an address on this machine. */
export async function logInAtPage(
  target: LoginTarget,
  { authority, scope }: { readonly authority: Authority; readonly scope: string },
  { show, signal }: Guide,
  means: LoginMeans,
): Promise<Login> {
  const { id } = target
  const { issuer, metadata, resource } = authority
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    throw mismatch(id, `"${issuer}" does not protect the answer (PKCE with S256)`)
  }
  const callback = await openCallback(CALLBACK_MS)
  const stop = (): void => callback.close()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const client = await clientFor(target, authority, { redirectUrl: callback.url, scope }, means)
    const state = randomBytes(32).toString('base64url')
    const { authorizationUrl, codeVerifier } = await means.sdk.startAuthorization(issuer, {
      metadata,
      clientInformation: client,
      redirectUrl: callback.url,
      state,
      ...(scope === '' ? {} : { scope }),
      ...(resource === null ? {} : { resource }),
    })
    show(authorizationUrl.href)
    const { code, iss } = await answerTo(target, { authority, state, callback }, means.sdk)
    const tokens = await means.sdk.exchangeAuthorization(issuer, {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      codeVerifier,
      redirectUri: callback.url,
      fetchFn: means.fetch,
      ...(iss === undefined ? {} : { iss }),
      ...(resource === null ? {} : { resource }),
    })
    return loginOf(target, { authority, scope, client, tokens, now: means.now() })
  } catch (error) {
    throw signal?.aborted === true
      ? new KiwiError('CANCELLED', `Cannot log in to "${id}": it was cancelled`)
      : sdkFailure(id, error)
  } finally {
    signal?.removeEventListener('abort', stop)
    callback.close()
  }
}

/** Kiwi logs in by itself, with the secret of the client. */
export async function logInAlone(
  target: LoginTarget,
  { authority, scope }: { readonly authority: Authority; readonly scope: string },
  { sdk, fetch, now }: LoginMeans,
): Promise<Login> {
  const { clientId, clientSecret } = target.terms
  const client = { client_id: clientId ?? '', client_secret: clientSecret ?? '' }
  const { issuer, metadata, resource } = authority
  const provider = new sdk.ClientCredentialsProvider({
    clientId: client.client_id,
    clientSecret: client.client_secret,
    expectedIssuer: issuer,
  })
  try {
    const tokens = await sdk.fetchToken(provider, issuer, {
      metadata,
      fetchFn: fetch,
      ...(scope === '' ? {} : { scope }),
      ...(resource === null ? {} : { resource }),
    })
    return loginOf(target, { authority, scope, client, tokens, now: now() })
  } catch (error) {
    throw sdkFailure(target.id, error)
  }
}

/** One that the config names, or one that is made known for this login: its address is another one each time. */
async function clientFor(
  { id, terms: { clientId, clientSecret } }: LoginTarget,
  { issuer, metadata }: Authority,
  { redirectUrl, scope }: { readonly redirectUrl: string; readonly scope: string },
  { sdk, fetch }: LoginMeans,
): Promise<OAuthClientInformationMixed> {
  const takesDocuments =
    'client_id_metadata_document_supported' in metadata &&
    metadata.client_id_metadata_document_supported === true
  if (clientId !== null && (takesDocuments || !isDocument(clientId))) {
    return { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) }
  }
  if (metadata.registration_endpoint === undefined) throw noRegistration(id, issuer)
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['none']
  const method = METHODS.find((each) => methods.includes(each)) ?? 'none'
  return sdk.registerClient(issuer, {
    metadata,
    fetchFn: fetch,
    clientMetadata: {
      client_name: 'Kiwi',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      application_type: 'native',
      token_endpoint_auth_method: method,
    },
    ...(scope === '' ? {} : { scope }),
  })
}

const METHODS = ['none', 'client_secret_basic', 'client_secret_post']

/** The address of a document that describes the client, which the issuer reads. */
function isDocument(clientId: string): boolean {
  return URL.canParse(clientId) && /^https:\/\/[^/]+\/./.test(clientId)
}

interface Expected {
  readonly authority: Authority
  readonly state: string
  readonly callback: Callback
}

/** The one answer; whatever is wrong with it, its code is sent nowhere. */
async function answerTo(
  { id }: LoginTarget,
  { authority: { metadata }, state, callback }: Expected,
  sdk: Sdk,
): Promise<{ readonly code: string; readonly iss: string | undefined }> {
  const params = await callback.arrived
  if (params === null) {
    throw new KiwiError('LOGIN_REQUIRED', `Cannot log in to "${id}": nobody logged in within 5 minutes`, {
      hint: `Run kiwi login ${serverName(id)} again`,
    })
  }
  const [given = '', ...others] = params.getAll('state')
  if (others.length > 0 || !isEqual(given, state)) throw mismatch(id, 'the answer is to another login')
  const isSaid =
    'authorization_response_iss_parameter_supported' in metadata &&
    metadata.authorization_response_iss_parameter_supported === true
  const iss = params.get('iss') ?? undefined
  try {
    sdk.validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata.issuer,
      issParameterSupported: isSaid,
    })
  } catch (error) {
    throw mismatch(id, 'the issuer in the answer is not the one asked', error)
  }
  const code = params.get('code')
  if (code !== null && params.getAll('code').length === 1) return { code, iss }
  const said = params.get('error') ?? ''
  const reason = /^[a-z_]{1,64}$/.test(said) ? `the issuer says ${said}` : 'the answer holds no code'
  throw new KiwiError('LOGIN_REQUIRED', `Cannot log in to "${id}": ${reason}`, {
    hint: `Run kiwi login ${serverName(id)} again`,
  })
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

interface Given {
  readonly authority: Authority
  readonly scope: string
  readonly client: OAuthClientInformationMixed
  readonly tokens: OAuthTokens
  readonly now: number
}

function loginOf({ id, url, principal }: LoginTarget, given: Given): Login {
  const { authority, scope, client, tokens, now } = given
  const { client_id, client_secret } = client
  const method = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined
  return {
    server: id,
    url,
    principal,
    issuer: authority.issuer,
    resource: authority.resource,
    client: {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    },
    ...grantedBy(tokens, scope, now),
    wanted: null,
    step_ups: 0,
  }
}

/** What a token answer gives; what it leaves out stays as it was asked for. */
export function grantedBy(
  tokens: OAuthTokens,
  scope: string,
  now: number,
): Pick<Login, 'access_token' | 'refresh_token' | 'expires_at' | 'scope'> {
  const { access_token, refresh_token = null, expires_in } = tokens
  return {
    access_token,
    refresh_token,
    expires_at: expires_in === undefined ? null : now + expires_in * 1000,
    scope: tokens.scope ?? scope,
  }
}
