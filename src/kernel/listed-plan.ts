import type { Plan } from '../chain/plan.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
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
export async function listedPlan(
  ref: ItemRef,
  resolve: () => Promise<Plan>,
  { lookup, means, ticket }: Circumstances,
): Promise<Listed> {
  const { listings } = means
  if (ticket === undefined || listings === null) return { plan: await resolve(), warnings: [] }
  const found = await resolve().catch((error: unknown) => {
    if (error instanceof KiwiError && error.code === 'NOT_FOUND') return error
    throw error
  })
  const missing = found instanceof KiwiError ? found : null
  const plan = found instanceof KiwiError ? null : found
  const stale = await (plan === null ? unlisted(ref, lookup, means) : outdated(plan, lookup, means))
  if (stale === null) {
    if (plan !== null) return { plan, warnings: [] }
    throw missing ?? new TypeError('there is neither a plan nor a reason')
  }
  try {
    const { warnings } = await listings.list(stale, { ticket, lookup, means })
    return { plan: await resolve(), warnings }
  } catch (error) {
    if (plan === null || plan.trust.refusal?.details['reason'] === 'unlisted') throw error
    return { plan, warnings: [`"${stale.name}" could not be listed again: ${messageOf(error)}`] }
  }
}

/** The server that such a tool would be one of, when it was not asked lately. */
async function unlisted({ name }: ItemRef, lookup: Lookup, { listings }: Means): Promise<Server | null> {
  const server = name.includes('.') ? await lookup.serverFor(name) : null
  if (server === null) return null
  return listings?.isCurrent(server.item, await lookup.listing(server.key)) === true ? null : server
}

/** The server of a tool, when what it listed is too old, or nobody has asked it yet. */
async function outdated(
  { effect, items }: Plan,
  lookup: Lookup,
  { listings }: Means,
): Promise<Server | null> {
  const [, server] = items
  if (effect.kind !== 'mcp' || effect.toolName === null || server === undefined) return null
  if (server.space === 'builtin') return null
  const listing = await lookup.listing(effect.identity)
  if (listings?.isCurrent(server, listing) === true) return null
  return lookup.serverOf(server)
}
