import { ItemName } from '../shared/ids.ts'
import { realPathOf } from '../spaces/disk.ts'
import type { Finding } from '../spaces/definitions/scan-definition.ts'
import { isDamning } from '../spaces/definitions/scan-definition.ts'
import type { Item } from '../spaces/item.ts'
import { launchParts } from '../spaces/launch-parts.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Caller } from './call.ts'
import type { Means } from './means.ts'

/**
 * A person's word for the servers of a project, or for some of them, as they are configured now. Without names those
 * are left out whose own texts speak to a model: these are looked at one by one. Gives what was left out.
 */
export async function trustLaunches(
  lookup: Lookup,
  { principal }: Caller,
  means: Means,
  only?: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { store, clock } = means
  const project = lookup.projectPath === null ? null : realPathOf(lookup.projectPath)
  if (project === null) return []
  const kept = { kept_at: new Date(clock.now()).toISOString(), kept_by: principal }
  const left: string[] = []
  for (const server of await projectServers(lookup)) {
    if (only?.has(server.id) === false) continue
    if (only === undefined && isDamning(await launchFindings(server, means))) {
      left.push(server.id)
      continue
    }
    const { id, contentHash: identity } = server
    await store.trust.trustLaunch({ project, server: id, identity, parts: launchParts(server), ...kept })
  }
  return left
}

/** Texts of its config that agents are shown in place of what the server says are looked at as that is. */
export async function launchFindings(
  { manifest: { config, description } }: Item,
  { scanDefinitions }: Means,
): Promise<readonly Finding[]> {
  const { tools = null } = config
  const scan = await scanDefinitions()
  return scan({ description, tools }, { own: new Set(), others: [] })
}

/** What was written a moment ago counts. */
async function projectServers(lookup: Lookup): Promise<readonly Item[]> {
  const space = lookup.spaces.find((candidate) => candidate.space === 'project')
  if (space === undefined) return []
  await space.catchUp()
  lookup.freshen(true)
  const { items } = await space.read([...space.stamps().keys()])
  const servers = items.filter(({ manifest }) => manifest.tool_type === 'mcp_server')
  const ids = new Set(servers.map(({ id }) => id))
  const found = await Promise.all(
    Array.from(ids, (id) =>
      lookup.find({ name: ItemName.parse(id), category: null, version: null }, 'mcp', 'project'),
    ),
  )
  return found.filter((item) => item !== null)
}
