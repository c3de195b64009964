import type { HttpClient } from '../../primitives/http/http-client.ts'
import type { Clock } from '../../shared/clock.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { Stop } from '../../shared/stop.ts'
import type { Login, Logins } from '../../store/vault/logins.ts'
import type { Credential } from '../remote.ts'
import type { Authority, Challenge, Sdk } from './authority.ts'
import {
  authorityAt,
  findAuthority,
  isNear,
  isSameIssuer,
  loadSdk,
  readChallenge,
  revocationOf,
} from './authority.ts'
import { openCredential } from './credential.ts'
import { mismatch } from './failures.ts'
import { fetchOver } from './fetch-over.ts'
import type { Guide } from './log-in.ts'
import { logInAlone, logInAtPage } from './log-in.ts'
import { readRefusal } from './read-refusal.ts'
import { loginHosts } from './login-hosts.ts'
import { joinScopes } from './scopes.ts'
import type { LoginTarget, OauthTerms } from './terms.ts'

/** Logins to servers at an address: made with a person, kept in the vault, renewed ahead of their end. */
export interface Oauth {
  /** What goes along with the calls of a principal. */
  credential(target: LoginTarget): Credential
  logIn(target: LoginTarget, guide: Guide): Promise<Login>
  /** Whether there was one. What the issuer can take back it is asked to. */
  logOut(target: LoginTarget): Promise<boolean>
}

interface OauthMeans {
  readonly logins: Logins
  /** The way out that leads to these hosts too, be they public or not. */
  readonly reaching: (hosts: readonly string[]) => HttpClient
  readonly clock: Clock
}

export function openOauth({ logins, reaching, clock }: OauthMeans): Oauth {
  /** What a server said last when it refused, by its address. */
  const heard = new Map<string, string>()
  const flights = new Map<string, Promise<Login>>()
  const now = (): number => clock.now()
  const clientFor = (target: LoginTarget, issuer: string | null): HttpClient =>
    reaching(loginHosts(target, issuer))
  const once = (key: string, work: () => Promise<Login>): Promise<Login> => {
    const flight = flights.get(key) ?? work().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }

  const challengeOf = async (sdk: Sdk, target: LoginTarget, signal?: Stop): Promise<Challenge> => {
    const { url } = target
    return readChallenge(sdk, heard.get(url) ?? (await readRefusal(url, clientFor(target, null), signal)))
  }

  const logIn = async (target: LoginTarget, guide: Guide | null): Promise<Login> => {
    const sdk = await loadSdk()
    const signal = guide?.signal
    const before = await ownLogin(target)
    const stepUps = before === null || before.wanted === null ? 0 : before.step_ups + 1
    const challenge = await challengeOf(sdk, target, signal)
    const authority = await findAuthority(sdk, target, challenge, (issuer) =>
      fetchOver(clientFor(target, issuer), signal),
    )
    const httpClient = clientFor(target, authority.issuer)
    await assertIssuer(target, authority, guide, { logins, httpClient })
    const asked = { authority, scope: scopeFor(target.terms, authority, challenge, before) }
    const means = { sdk, fetch: fetchOver(httpClient, signal), now }
    const login =
      guide === null || target.terms.isOwn
        ? await logInAlone(target, asked, means)
        : await logInAtPage(target, asked, guide, means)
    const kept = { ...login, step_ups: stepUps }
    await logins.keep(kept)
    heard.delete(target.url)
    return kept
  }

  const ownLogin = async (target: LoginTarget): Promise<Login | null> => {
    const found = await logins.find(target)
    return found?.principal === target.principal ? found : null
  }

  return {
    logIn,
    credential: (target) =>
      openCredential(target, {
        logins,
        clientFor: (issuer) => clientFor(target, issuer),
        now,
        once,
        hear: (challenge) => void heard.set(target.url, challenge),
        logInAlone: () => logIn(target, null),
      }),
    async logOut(target) {
      const login = await ownLogin(target)
      if (login !== null) await giveBack(login, target, clientFor(target, login.issuer))
      return logins.forget(target)
    },
  }
}

/** A secret that was given to one issuer is not given to another because the server says so. */
async function assertIssuer(
  target: LoginTarget,
  { issuer, metadata }: Authority,
  guide: Guide | null,
  { logins, httpClient }: { readonly logins: Logins; readonly httpClient: HttpClient },
): Promise<void> {
  const { id, terms } = target
  const before = await logins.issuerOf(target)
  // A person who logs in anew without one is registered anew.
  const isBound = guide === null || terms.clientSecret !== null
  if (before !== null && isBound && !isSameIssuer(before, issuer))
    throw mismatch(id, `it names another issuer than before, "${issuer}"; kiwi logout forgets the one before`)
  if (before === null && isUnconfirmed(target, issuer) && (await guide?.confirm?.(issuer)) !== true)
    throw mismatch(
      id,
      `its client_secret would go to "${issuer}", which is not where the server is: write issuer into its auth, or confirm it with kiwi login ${id}`,
    )
  if (guide === null || terms.isOwn || isNear(target)) return
  const refused = await httpClient.judge(metadata.authorization_endpoint)
  if (refused !== null)
    throw mismatch(id, `the page of "${issuer}" is at an address that is not public`, refused)
}

/** A secret that the config holds, and an issuer that only the server names and that is elsewhere. */
function isUnconfirmed(
  { url, terms: { clientSecret, issuer: named } }: LoginTarget,
  issuer: string,
): boolean {
  return clientSecret !== null && named === null && new URL(url).hostname !== new URL(issuer).hostname
}

/** A login for more than the one before keeps what that was good for. */
function scopeFor(
  { scopes, isOwn }: OauthTerms,
  { metadata, ...authority }: Authority,
  challenge: Challenge,
  before: Login | null,
): string {
  const own = scopes.length > 0 ? scopes.join(' ') : null
  const asked = own ?? challenge.scope ?? authority.scopes.join(' ')
  const wanted = before?.wanted ?? null
  const scope = wanted === null ? asked : joinScopes(before?.scope, asked, wanted)
  const isOffered = metadata.scopes_supported?.includes('offline_access') === true
  return joinScopes(scope, scope !== '' && isOffered && !isOwn ? 'offline_access' : '')
}

/** An issuer that cannot be reached keeps nobody from forgetting a login. */
async function giveBack(
  { issuer, client, ...login }: Login,
  target: LoginTarget,
  httpClient: HttpClient,
): Promise<void> {
  const fetch = fetchOver(httpClient)
  try {
    const address = revocationOf(await authorityAt(await loadSdk(), target, issuer, fetch))
    if (address === null) return
    const { client_id, client_secret } = client
    const body = new URLSearchParams({ token: login.refresh_token ?? login.access_token, client_id })
    if (client_secret !== undefined) body.set('client_secret', client_secret)
    await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    })
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
  }
}
