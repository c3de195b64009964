import type { Draft } from '../chain/draft.ts'
import type { UpstreamDraft } from '../chain/draft-upstream.ts'
import { isVouchedServer } from '../chain/judge-upstream.ts'
import type { Plan } from '../chain/plan.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { redactBoth } from '../shared/redact.ts'
import { newlyHeld } from '../spaces/definitions/definition-changes.ts'
import { judgeListing } from '../spaces/definitions/judge-listing.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { CatalogTool, Listing } from '../store/catalog.ts'
import type { Ticket, Work } from './call.ts'
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
    parameters: {},
    projectPath: lookup.projectPath,
    spaceRoot,
    sandbox: policy.sandbox,
    guardsOwn: policy.guardsOwn && ticket.caller.kind === 'agent',
    isServerMeant: true,
  })
  const draft = { ...drafted, redact: redactBoth(drafted.redact, means.secrets.redact) }
  const { id, manifest, space } = plan.item
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
    warnings: [...plan.trust.warnings, ...warnings, ...draft.warnings],
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

interface Keeping {
  readonly lookup: Lookup
  readonly means: Means
  readonly watch?: Watch | undefined
}

/** What a server was found to have. */
export interface Kept {
  readonly listing: Listing
  readonly before: readonly CatalogTool[]
  readonly tools: readonly CatalogTool[]
  readonly warnings: readonly string[]
}

/** Asks a server what it has, and keeps that beside what was known of it. */
export async function keepListing(
  server: Server,
  draft: Draft,
  { lookup, means, watch }: Keeping,
): Promise<Kept> {
  const { chain, store, clock, scanDefinitions } = means
  const { identity: key } = upstreamIn(draft)
  const { description, tools: raw, faults, noteKept } = await chain.list(draft, watch)
  const before = await store.catalog.tools(key)
  const tools = judgeListing(before, raw, {
    isBaseline: before.length === 0 && (await store.catalog.listing(key)) === null,
    isVouched: isVouched(draft.plan),
    key,
    otherServers: await othersOf(server, lookup, means),
    scan: await scanDefinitions(),
  })
  const { era, protocol, capabilities, serverInfo, instructions } = description
  const listing: Listing = {
    key,
    server: server.item.id,
    listed_at: clock.now(),
    hash: sha256(canonicalJson(tools.map(({ name, raw: definition }) => [name, definition]))),
    era,
    protocol,
    capabilities,
    server_info: serverInfo,
    instructions,
  }
  await store.catalog.put(listing, tools)
  noteKept()
  lookup.freshen(true)
  const unusable = tools
    .filter(({ state }) => state === 'unusable')
    .map(({ name, findings }) => `"${name}" of "${server.name}" cannot be used: ${findings.join('; ')}`)
  const left = faults.map((fault) => `the list of "${server.name}" is not whole: ${fault}`)
  const held = tools.filter(({ state }) => state === 'quarantined').length
  const waiting =
    held === 0 ? [] : [`${held} tools of "${server.name}" wait for a person: kiwi trust ${server.name}`]
  const warnings = [...waiting, ...left, ...unusable, ...server.overrides.warnings(raw)]
  return { listing, before, tools, warnings }
}

function upstreamIn({ effect }: Draft): UpstreamDraft {
  if (effect.kind === 'mcp') return effect
  throw new TypeError('what is no server was to be listed')
}

function isVouched({ trust: { links } }: Plan): boolean {
  const server = links.find(({ item }) => item.manifest.tool_type === 'mcp_server')
  return server !== undefined && isVouchedServer(server)
}

/** What else there is, so that a definition that speaks of it can be told. */
async function othersOf(
  { key }: Server,
  lookup: Lookup,
  { store }: Means,
): Promise<Parameters<typeof judgeListing>[2]['otherServers']> {
  // The index says which servers there are.
  await lookup.syncIndex()
  const others = (await lookup.servers()).filter((other) => other.key !== key)
  return Promise.all(
    others.map(async (other) => ({
      name: other.name,
      tools: await store.catalog.names(other.key),
    })),
  )
}
