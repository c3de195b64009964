import type { Plan } from '../chain/plan.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket } from './call.ts'
import type { Means } from './means.ts'

interface Circumstances {
  readonly lookup: Lookup
  readonly means: Means
  /** Left out where nothing is to be asked of a server. */
  readonly ticket: Ticket | undefined
}

interface Listed {
  readonly plan: Plan
  readonly warnings: readonly string[]
}

/** The plan of an id. Its server is first asked what it has when it never was, or when that may have changed since. */
export function listedPlan(
  ref: ItemRef,
  resolve: () => Maybe<Plan>,
  circumstances: Circumstances,
): Maybe<Listed> {
  const { lookup, means, ticket } = circumstances
  const { listings } = means
  if (ticket === undefined || listings === null) return after(resolve(), known)
  const listNow = async (stale: Server, plan: Plan | null): Promise<Listed> => {
    let warnings: readonly string[]
    try {
      ;({ warnings } = await listings.list(stale, { ticket, lookup, means }))
    } catch (error) {
      if (ticket.signal?.aborted === true) throw error
      if (plan === null || plan.trust.refusal?.details['reason'] === 'unlisted') throw error
      return { plan, warnings: [`"${stale.name}" could not be listed again: ${messageOf(error)}`] }
    }
    // What was found now is what counts: a tool that is gone from the list is not called as it was.
    return { plan: await resolve(), warnings }
  }
  const unlessOld = (plan: Plan): Maybe<Listed> =>
    after(outdated(plan, lookup, means), (stale) => (stale === null ? known(plan) : listNow(stale, plan)))
  const unlessUnasked = async (error: unknown): Promise<Listed> => {
    const isMissing = error instanceof KiwiError && error.code === 'NOT_FOUND'
    const stale = isMissing ? await unlisted(ref, lookup, means) : null
    if (stale === null) throw error
    return listNow(stale, null)
  }
  const found = resolve()
  return found instanceof Promise ? found.then(unlessOld, unlessUnasked) : unlessOld(found)
}

function known(plan: Plan): Listed {
  return { plan, warnings: [] }
}

/** The server that such a tool would be one of, when it was not asked lately. */
async function unlisted({ name }: ItemRef, lookup: Lookup, { listings }: Means): Promise<Server | null> {
  const server = name.includes('.') ? await lookup.serverFor(name) : null
  if (server === null) return null
  return listings?.isCurrent(server.item, await lookup.listing(server.key)) === true ? null : server
}

/** The server of a tool, when what it listed is too old, or nobody has asked it yet. */
function outdated({ effect, items }: Plan, lookup: Lookup, { listings }: Means): Maybe<Server | null> {
  const [, server] = items
  if (effect.kind !== 'mcp' || effect.toolName === null || server === undefined) return null
  if (server.space === 'builtin') return null
  return after(lookup.listing(effect.identity), (listing) =>
    listings?.isCurrent(server, listing) === true ? null : lookup.serverOf(server),
  )
}
