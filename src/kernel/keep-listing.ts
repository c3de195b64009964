import type { Draft } from '../chain/draft.ts'
import type { UpstreamDraft } from '../chain/draft-upstream.ts'
import { isVouchedServer } from '../chain/judge-upstream.ts'
import type { Plan } from '../chain/plan.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import type { ListingTerms } from '../spaces/definitions/judge-listing.ts'
import { judgeListing } from '../spaces/definitions/judge-listing.ts'
import { isSchemaFinding } from '../spaces/definitions/schema-finding.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { CatalogTool, Listing } from '../store/catalog.ts'
import type { Means } from './means.ts'
import { withSchemaFindings } from './schema-findings.ts'

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
  const { identity: key, isOlder } = upstreamIn(draft)
  // A server takes its time to start, and what its tools are judged by is made ready in it.
  const [{ description, tools: raw, faults, noteKept }, scan] = await Promise.all([
    chain.list(draft, watch),
    scanDefinitions().then(async (ready) => {
      await chain.schemaFault({})
      return ready
    }),
  ])
  const before = await store.catalog.tools(key)
  const known = await store.catalog.listing(key)
  const judged = judgeListing(before, raw, {
    isBaseline: before.length === 0 && known === null,
    isVouched: isVouched(draft.plan),
    key,
    otherServers: await othersOf(server, lookup, means),
    scan,
  })
  const tools = await withSchemaFindings(judged, before, chain)
  const { serverInfo, ...said } = description
  const own = { ...said, server_info: serverInfo }
  // Where it was spoken to in the older era on purpose, its words say nothing of the other one.
  const { era, protocol, capabilities, server_info, instructions } = isOlder
    ? (known ?? { ...own, protocol: '' })
    : own
  const listing: Listing = {
    key,
    server: server.item.id,
    listed_at: clock.now(),
    hash: sha256(canonicalJson(tools.map(({ name, raw: definition }) => [name, definition]))),
    era,
    protocol,
    capabilities,
    server_info,
    instructions,
  }
  await store.catalog.put(listing, tools)
  noteKept(listing.hash)
  lookup.freshen(true)
  const unusable = tools
    .filter(({ state }) => state === 'unusable')
    .map(({ name, findings }) => `"${name}" of "${server.name}" cannot be used: ${findings.join('; ')}`)
  const odd = tools.flatMap(({ name, state, findings }) =>
    state === 'usable'
      ? findings.filter(isSchemaFinding).map((finding) => `"${name}" of "${server.name}": ${finding}`)
      : [],
  )
  const left = faults.map((fault) => `the list of "${server.name}" is not whole: ${fault}`)
  const held = tools.filter(({ state }) => state === 'quarantined').length
  const waiting =
    held === 0 ? [] : [`${held} tools of "${server.name}" wait for a person: kiwi trust ${server.name}`]
  const warnings = [
    ...waiting,
    ...left,
    ...unusable,
    ...odd,
    ...(await selfWarnings(listing, server, { own: new Set(tools.map(({ name }) => name)), means })),
    ...server.overrides.warnings(raw),
  ]
  return { listing, before, tools, warnings }
}

/** What a server said of itself that no client is shown. */
export async function selfWarnings(
  { key, instructions, server_info: serverInfo, capabilities }: Listing,
  { name }: Server,
  { own, means }: { readonly own: ReadonlySet<string>; readonly means: Means },
): Promise<readonly string[]> {
  const said = { server: name, key, method: null, result: { instructions, serverInfo, capabilities } }
  return (await means.relayScreen.screen(said, async () => ({ own, others: [] }))).warnings
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
export async function othersOf(
  { key }: Server,
  lookup: Lookup,
  { store }: Means,
): Promise<ListingTerms['otherServers']> {
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
