import type { Draft } from '../chain/draft.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { runDemands } from './run-demands.ts'
import { linksOf, trustedPlan } from './run-work.ts'

type LoginWish = Extract<Wish, { kind: 'login' }>
type LogoutWish = Extract<Wish, { kind: 'logout' }>

/** A person logs in to a server at an address, for their own calls or for everybody's. */
export async function loginWork(
  wish: LoginWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'login')
  const draft = await draftOf(wish, lookup, ticket, means)
  const { principal, show, opensBrowser } = wish
  return {
    ...workOn(draft, 'login', { principal }, means),
    async perform(watch) {
      const order = { principal, show, opensBrowser }
      const login = await means.chain.logins.logIn(draft, order, watch?.signal)
      const { server, issuer, scope, expires_at, refresh_token } = login
      const until = expires_at === null ? null : new Date(expires_at).toISOString()
      const isRenewed = refresh_token !== null
      return {
        data: {
          output: `Logged in to "${server}"`,
          server,
          principal,
          issuer,
          scope,
          until,
          is_renewed: isRenewed,
        },
        warnings: [],
      }
    },
  }
}

/** A person gives a login back. */
export async function logoutWork(
  wish: LogoutWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'logout')
  const draft = await draftOf(wish, lookup, ticket, means)
  const { principal } = wish
  const { id } = draft.plan.item
  return {
    ...workOn(draft, 'logout', { principal }, means),
    async perform() {
      if (await means.chain.logins.logOut(draft, principal)) {
        return { data: { output: `Logged out of "${id}"`, server: id, principal }, warnings: [] }
      }
      throw new KiwiError('NOT_FOUND', `Cannot log out of "${id}": there is no login`, {
        hint: 'A login for the calls of one caller is ended with --for',
      })
    },
  }
}

async function draftOf(
  { ref }: LoginWish | LogoutWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Draft> {
  const { plan, spaceRoot } = await trustedPlan({ ref, itemType: 'mcp' }, lookup, means)
  return means.chain.draft(plan, {
    callId: ticket.callId,
    principal: ticket.caller.principal,
    session: ticket.caller.session,
    parameters: {},
    projectPath: lookup.projectPath,
    spaceRoot,
    isServerMeant: true,
  })
}

function workOn(
  { plan, redact, warnings, ...draft }: Draft,
  action: string,
  parameters: JsonObject,
  { own }: Means,
): Omit<Work, 'perform'> {
  const { id, manifest, space } = plan.item
  return {
    item: { id, version: manifest.version, space },
    action,
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action },
      ...runDemands({ plan, redact, warnings, ...draft }, own).filter(({ op }) => op === 'net'),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters,
    trust: plan.trust.level,
    redact,
    preview: () => ({ server: id, ...parameters }),
    warnings,
  }
}
