import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { definitionDiff } from '../spaces/definitions/definition-changes.ts'
import { realPathOf } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import { launchChanges, launchKeys } from '../spaces/launch-parts.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Server } from '../spaces/listed.ts'
import type { CatalogTool } from '../store/catalog.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { launchFindings, trustLaunches } from './trust-launches.ts'

type TrustServerWish = Extract<Wish, { kind: 'trust_server' }>

/** A person lets pass what an upstream starts, and what it says of its tools, exactly as it was shown to them. */
export async function trustServerWork(
  wish: TrustServerWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'trust')
  const { store, chain } = means
  const { server, tool } = await serverIn(wish.name, lookup)
  const { item, key } = server
  const { trust } = await chain.resolver.plan(item, lookup)
  const isLaunchNew = trust.refusal?.details['reason'] === 'launch'
  if (trust.refusal !== null && !isLaunchNew) throw trust.refusal
  const waiting = (await store.catalog.tools(key)).filter(
    ({ name, state }) => state === 'quarantined' && (tool === null || name === tool),
  )
  if (tool !== null && waiting.length === 0) await assertListed(server, tool, store.catalog)
  assertSeen(wish, item.contentHash, waiting)
  const launch = await launchOf(item, lookup, means)
  const shown = waiting.map(shownChange)
  return {
    item: { id: item.id, version: item.manifest.version, space: item.space },
    action: 'trust',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'trust' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { server: item.id, identity: item.contentHash, changed: launch.changed, tools: shown },
    redact: keepAll,
    preview: () => ({
      server: item.id,
      space: item.space,
      path: item.path,
      identity: item.contentHash,
      ...launch,
      is_launch_new: isLaunchNew,
      tools: shown,
    }),
    warnings: [],
    async perform() {
      if (isLaunchNew) await trustLaunches(lookup, ticket.caller, means, new Set([item.id]))
      if (waiting.length > 0) await store.catalog.approve(key, waiting)
      lookup.freshen(true)
      const what = [...(isLaunchNew ? ['how it is configured'] : []), ...waiting.map(({ name }) => name)]
      return {
        data: {
          output: what.length === 0 ? `Nothing of "${wish.name}" waits` : `Trusted: ${what.join(', ')}`,
          server: item.id,
          tools: waiting.map(({ name, pin }) => ({ name, pin })),
        },
        warnings: [],
      }
    },
  }
}

/** `acme` is a server, `acme.add` one of its tools. */
async function serverIn(
  name: string,
  lookup: Lookup,
): Promise<{ readonly server: Server; readonly tool: string | null }> {
  const dot = name.indexOf('.')
  const spoken = dot < 0 ? name : name.slice(0, dot)
  // What was written a moment ago counts.
  await lookup.syncIndex()
  const server = (await lookup.servers()).find(
    ({ name: known, item }) => known === spoken || item.id === spoken,
  )
  if (server !== undefined) return { server, tool: dot < 0 ? null : name.slice(dot + 1) }
  throw new KiwiError('NOT_FOUND', `Cannot trust "${name}": no server is called "${spoken}" here`, {
    hint: 'kiwi search mcp:* shows the servers of this project; without a name kiwi trust is about the project itself',
    details: { item_type: 'mcp', item_id: spoken },
  })
}

async function assertListed(
  { key, name }: Server,
  tool: string,
  catalog: Means['store']['catalog'],
): Promise<void> {
  if ((await catalog.tool(key, tool)) !== null) return
  throw new KiwiError('NOT_FOUND', `Cannot trust "${name}.${tool}": the server lists no such tool`, {
    hint: `kiwi load ${name} --type mcp asks the server what it has`,
    details: { item_type: 'tool', item_id: `${name}.${tool}` },
  })
}

/** What is let pass is what was looked at: nothing more and nothing else. */
function assertSeen(
  { name, seen }: TrustServerWish,
  identity: string,
  waiting: readonly CatalogTool[],
): void {
  if (seen === null) return
  const same = seen.identity === identity && waiting.length === seen.pins.length
  if (same && waiting.every(({ pin }) => seen.pins.includes(pin))) return
  throw new KiwiError('CONFLICT', `Cannot trust "${name}": it has changed since it was shown`, {
    hint: 'Run the command again and look at what it is now',
  })
}

function shownChange(tool: CatalogTool): JsonObject & { readonly name: string } {
  const { name, pin, reason, findings } = tool
  return { name, pin, reason, findings, diff: definitionDiff(tool) }
}

/** All that is configured of it, whole, with nothing filled in; what of it is not as it was trusted, and what its texts look like. */
async function launchOf(item: Item, { projectPath }: Lookup, means: Means): Promise<LaunchShown> {
  const project = projectPath === null ? null : realPathOf(projectPath)
  const kept =
    item.space === 'project' && project !== null ? await means.store.trust.launch(project, item.id) : null
  const { changed, gone } = kept === null ? { changed: [], gone: [] } : launchChanges(item, kept.parts)
  const isOther = kept !== null && kept.identity !== item.contentHash
  const isInFiles = isOther && changed.length === 0 && gone.length === 0
  return {
    launch: Object.fromEntries(launchKeys(item)),
    changed: isInFiles ? ['files'] : changed,
    gone,
    findings: (await launchFindings(item, means)).map(({ says }) => says),
  }
}

interface LaunchShown extends JsonObject {
  readonly launch: JsonObject
  readonly changed: readonly string[]
  readonly gone: readonly string[]
  readonly findings: readonly string[]
}
