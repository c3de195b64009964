import type { HttpClient } from '../../primitives/http/http-client.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { Login, Logins } from '../../store/vault/logins.ts'
import type { Credential, Refusal } from '../remote.ts'
import { authorityAt, loadSdk, readChallenge } from './authority.ts'
import { loginRequired, oauthCodeOf, sdkFailure } from './failures.ts'
import { fetchOver } from './fetch-over.ts'
import { grantedBy } from './log-in.ts'
import { isWider, joinScopes } from './scopes.ts'
import type { LoginTarget } from './terms.ts'

interface CredentialMeans {
  readonly logins: Logins
  /** The way to an issuer. */
  readonly clientFor: (issuer: string) => HttpClient
  readonly now: () => number
  /** Remembers what the server said when it refused. */
  readonly hear: (challenge: string) => void
  /** A login that needs no person. */
  readonly logInAlone: () => Promise<Login>
  /** Whoever asks for the same meanwhile gets the same. */
  readonly once: (key: string, work: () => Promise<Login>) => Promise<Login>
}

/** Renewed so long before its end that no call on its way is caught by it. */
const AHEAD_MS = 60_000
/** A server that asks for more and more is not satisfied by another login. */
const MOST_STEP_UPS = 3

/** The login of a principal to a server. What renews it goes to the issuer that gave it, and nowhere else. */
export function openCredential(target: LoginTarget, means: CredentialMeans): Credential {
  const { id, terms } = target

  const find = async (): Promise<Login | null> => {
    try {
      return await means.logins.find(target)
    } catch (error) {
      // A vault that is locked keeps nobody from a server that never asked for a login.
      if (error instanceof KiwiError && !terms.isSaid) return null
      throw error
    }
  }
  const alone = (): Promise<Login> => means.once(`alone ${target.url} ${target.principal}`, means.logInAlone)
  const renewed = async (login: Login): Promise<Login> => {
    if (terms.isOwn) return alone()
    if (login.refresh_token === null) throw loginRequired(id, 'the login is over')
    return means.once(`refresh ${login.refresh_token}`, () => refresh(login, target, means))
  }

  return {
    async header() {
      const login = (await find()) ?? (terms.isOwn ? await alone() : null)
      if (login === null) return null
      if (login.expires_at === null || means.now() < login.expires_at - AHEAD_MS) return bearer(login)
      try {
        return bearer(await renewed(login))
      } catch (error) {
        // As long as it holds, a failure to renew it in time hurts nobody.
        if (means.now() < login.expires_at) return bearer(login)
        throw error
      }
    },
    async renew({ status, challenge, sent }: Refusal, isAgain) {
      means.hear(challenge)
      const login = await find()
      if (login === null) throw loginRequired(id, 'it wants to know who calls')
      // Somebody else has renewed it meanwhile.
      if (bearer(login) !== sent) return
      if (status === 403) return stepUp(login, challenge)
      if (isAgain) throw loginRequired(id, 'it takes the login no more')
      await renewed(login)
    },
  }

  /** Further rights are a person's to give; what they are is remembered for the login. */
  async function stepUp(login: Login, challenge: string): Promise<void> {
    const { scope } = readChallenge(await loadSdk(), challenge)
    const wanted = joinScopes(login.wanted, scope)
    if (!isWider(wanted, login.scope) || login.step_ups >= MOST_STEP_UPS) {
      throw new KiwiError(
        'HTTP_STATUS',
        `Cannot use "${id}": it asks for rights that a login does not bring`,
        {
          hint: 'Ask the person who runs the server what the login must be good for',
          details: { status_code: 403, scope },
        },
      )
    }
    await means.logins.keep({ ...login, wanted })
    if (terms.isOwn) return void (await alone())
    throw loginRequired(id, `the login must also be good for ${JSON.stringify(wanted)}`)
  }
}

function bearer({ access_token }: Login): string {
  return `Bearer ${access_token}`
}

/** What the issuer means for good; anything else may be another one in a moment. */
const FINAL: ReadonlySet<string | null> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])

/** One process renews it, and the others use what that one got: an issuer may take a token that comes twice for a stolen one. */
async function refresh(login: Login, target: LoginTarget, means: CredentialMeans): Promise<Login> {
  const { logins } = means
  const { server } = login
  const over = loginRequired(server, 'the login was taken back, or is over')
  const turn = logins.inTurn(login, async () => {
    const kept = await logins.find(login)
    return kept?.refresh_token === login.refresh_token ? refreshed(login, target, means) : kept
  })
  const fresh = await turn.catch(async (error: unknown) => {
    if (!FINAL.has(oauthCodeOf(error))) throw passing(server, error)
    await logins.end(login)
    throw over
  })
  if (fresh === null) throw over
  return fresh
}

async function refreshed(
  login: Login,
  target: LoginTarget,
  { logins, clientFor, now }: CredentialMeans,
): Promise<Login> {
  const { issuer, client, resource, refresh_token: refreshToken } = login
  const fetchFn = fetchOver(clientFor(issuer))
  const sdk = await loadSdk()
  const metadata = await authorityAt(sdk, target, issuer, fetchFn)
  const tokens = await sdk.refreshAuthorization(issuer, {
    metadata,
    clientInformation: client,
    refreshToken: refreshToken ?? '',
    fetchFn,
    ...(resource === null ? {} : { resource }),
  })
  const fresh = { ...login, ...grantedBy(tokens, login.scope, now()) }
  await logins.keep(fresh)
  return fresh
}

/** Nobody has to log in again because an issuer cannot be reached. */
function passing(id: string, error: unknown): KiwiError {
  const failure = sdkFailure(id, error)
  if (failure.code === 'OAUTH_MISMATCH' || failure.code === 'EGRESS_DENIED') return failure
  return new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": its login cannot be renewed now`, {
    hint: 'Send the call again in a moment: the login itself stands',
    cause: error,
  })
}
