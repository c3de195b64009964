import type { Draft } from '../chain/draft.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { redactBoth } from '../shared/redact.ts'
import { newlyHeld } from '../spaces/definitions/definition-changes.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Work } from './call.ts'
import type { Kept } from './keep-listing.ts'
import { keepListing, selfWarnings } from './keep-listing.ts'
import type { Means } from './means.ts'
import type { Demand } from './policy/rule.ts'
import { runDemands } from './run-demands.ts'
import { linksOf, trustedPlan } from './run-work.ts'

/** A server to be asked what it has: it may have to be started for it, so it is judged as its tools are. */
export async function listWork(
  server: Server,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Omit<Work, 'perform'> & { readonly list: (watch?: Watch) => Promise<Kept> }> {
  const ref = { name: server.item.id, category: null, version: null }
  const meant = { ref, itemType: 'mcp', item: server.item } as const
  const { plan, spaceRoot, policy, warnings } = await trustedPlan(meant, lookup, means)
  const drafted = await means.chain.draft(plan, {
    callId: ticket.callId,
    principal: ticket.caller.principal,
    session: ticket.caller.session,
    isOlder: ticket.caller.isOlder,
    parameters: {},
    projectPath: lookup.projectPath,
    spaceRoot,
    sandbox: policy.sandbox,
    guardsOwn: ticket.caller.kind === 'agent' ? policy.guardsOwn : null,
    isServerMeant: true,
  })
  const draft = { ...drafted, redact: redactBoth(drafted.redact, means.secrets.redact) }
  const { id, manifest, space } = plan.item
  const listing = await lookup.listing(server.key)
  const own = new Set(listing === null ? [] : await means.store.catalog.names(server.key))
  const flagged = listing === null ? [] : await selfWarnings(listing, server, { own, means })
  let held: readonly JsonObject[] = []
  return {
    item: { id, version: manifest.version, space },
    action: 'list',
    chain: linksOf(plan),
    demands: listDemands(server, draft, means),
    isRepeatable: true,
    isReadOnly: false,
    parameters: { server: id },
    trust: plan.trust.level,
    ...(draft.hold === null ? {} : { heldBy: draft.hold.shown }),
    policy,
    digest: sha256(canonicalJson({ chain: draft.digest, content: plan.item.contentHash })),
    redact: draft.redact,
    preview: () => ({ executor_chain: plan.chain, tool_type: manifest.tool_type }),
    warnings: [...plan.trust.warnings, ...warnings, ...draft.warnings, ...flagged],
    found: () => (held.length === 0 ? {} : { quarantined: held }),
    async list(watch) {
      const kept = await keepListing(server, draft, { lookup, means, watch })
      held = newlyHeld(kept.before, kept.tools)
      return kept
    },
  }
}

/** What it starts or reaches is judged as for its tools; the question itself by the name of the method. */
function listDemands({ name }: Server, draft: Draft, { own }: Means): readonly Demand[] {
  const of = { server: name, tool: 'tools/list' }
  return runDemands(draft, own).map((demand) =>
    demand.op === 'tool' && demand.of === undefined ? { ...demand, action: 'list', of } : demand,
  )
}
