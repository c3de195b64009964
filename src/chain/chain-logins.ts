import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { Stop } from '../shared/stop.ts'
import type { Login } from '../store/vault/logins.ts'
import type { Oauth } from '../upstream/oauth/oauth.ts'
import { openBrowser } from '../upstream/oauth/open-browser.ts'
import type { LoginTarget } from '../upstream/oauth/terms.ts'
import type { Draft } from './draft.ts'

/** Who uses a login, and how a person comes to the page where they log in. */
interface LoginOrder {
  /** `*` = everybody. */
  readonly principal: string
  readonly opensBrowser: boolean
  readonly show: (address: string) => void
  readonly confirm?: ((issuer: string) => Promise<boolean>) | undefined
}

/** Logins to the servers of drafts. */
export interface ChainLogins {
  logIn(draft: Draft, order: LoginOrder, signal?: Stop): Promise<Login>
  /** Whether there was one. */
  logOut(draft: Draft, principal: string): Promise<boolean>
}

interface LoginMeans {
  readonly oauth: Oauth
  readonly environment: Environment
}

export function chainLogins({ oauth, environment }: LoginMeans): ChainLogins {
  return {
    logIn: (draft, { principal, opensBrowser, show, confirm }, signal) =>
      oauth.logIn(
        { ...targetOf(draft), principal },
        {
          signal,
          confirm,
          show(address) {
            show(address)
            if (opensBrowser) openBrowser(address, environment)
          },
        },
      ),
    logOut: (draft, principal) => oauth.logOut({ ...targetOf(draft), principal }),
  }
}

function targetOf({ effect, plan }: Draft): LoginTarget {
  const name = serverName(plan.item.id)
  if (effect.kind !== 'mcp' || effect.server.kind !== 'remote') {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot log in to "${name}": it is not a server at an address`,
      {
        hint: 'A program gets its keys as secrets: kiwi grant',
      },
    )
  }
  const { login } = effect.server
  if (login !== null) return login
  throw new KiwiError('INVALID_CONFIG', `Cannot log in to "${name}": its config holds a key`, {
    hint: 'Take the Authorization header out of its config, or write auth: {type: oauth}',
  })
}
