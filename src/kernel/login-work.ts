import type { Draft } from '../chain/draft.ts'
import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { runDemands } from './run-demands.ts'
import { linksOf, trustedPlan } from './run-work.ts'

type LoginWish = Extract<Wish, { kind: 'login' }>

/** A person logs in to a server at an address, for the calls of one caller or of everybody; or gives the login back. */
export async function loginWork(
  wish: LoginWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  const action = wish.page === null ? 'logout' : 'login'
  assertPerson(ticket, action)
  const draft = await draftOf(wish, lookup, ticket, means)
  const { plan, redact, warnings } = draft
  const { id, manifest, space } = plan.item
  const { principal, page } = wish
  return {
    item: { id, version: manifest.version, space },
    action,
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action },
      ...runDemands(draft, means.own).filter(({ op }) => op === 'net'),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { principal },
    trust: plan.trust.level,
    redact,
    preview: () => ({ server: id, principal }),
    warnings,
    async perform(watch) {
      const order = page === null ? null : { ...page, principal }
      const data = await (order === null
        ? logOut(draft, principal, means)
        : logIn(draft, order, means, watch))
      return { data, warnings: [] }
    },
  }
}

async function logIn(
  draft: Draft,
  order: Parameters<Means['chain']['logins']['logIn']>[1],
  { chain }: Means,
  watch: Watch = {},
): Promise<JsonObject> {
  const { server, principal, issuer, scope, ...login } = await chain.logins.logIn(draft, order, watch.signal)
  const until = login.expires_at === null ? null : new Date(login.expires_at).toISOString()
  const isRenewed = login.refresh_token !== null
  return {
    output: `Logged in to "${server}"`,
    server,
    principal,
    issuer,
    scope,
    until,
    is_renewed: isRenewed,
  }
}

async function logOut(draft: Draft, principal: string, { chain }: Means): Promise<JsonObject> {
  const id = serverName(draft.plan.item.id)
  if (await chain.logins.logOut(draft, principal)) {
    return { output: `Logged out of "${id}"`, server: id, principal }
  }
  throw new KiwiError('NOT_FOUND', `Cannot log out of "${id}": there is no login`, {
    hint: 'A login for the calls of one caller is ended with --for',
  })
}

async function draftOf({ ref }: LoginWish, lookup: Lookup, ticket: Ticket, means: Means): Promise<Draft> {
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
