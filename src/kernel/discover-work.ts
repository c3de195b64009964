import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { switchedOff } from '../spaces/switch-on.ts'
import { notFound } from '../spaces/not-found.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { DiscoverySteps, Step } from './discovery-steps.ts'
import { discoverySteps } from './discovery-steps.ts'
import { itemWrites } from './item-writes.ts'
import { listWork } from './list-work.ts'
import type { Means } from './means.ts'
import { rootOf } from './place.ts'
import { writeTogether } from './write-together.ts'

/** A server to be asked what it has, and an item to be written for each of its tools: whole, or nothing of it. */
export async function discoverWork(
  { ref, location }: Extract<Wish, { kind: 'discover' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  lookup.freshen(true)
  const server = (await lookup.serverFor(ref.name)) ?? (await otherServer(ref, lookup))
  const { list, ...listing } = await listWork(server, lookup, ticket, means)
  const { root } = rootOf(server.item.id, location, lookup, means)
  const folder = join(root, 'tools', 'mcp', server.name)
  return {
    ...listing,
    action: 'discover',
    demands: [
      { op: 'tool', id: server.item.id, action: 'discover' },
      ...listing.demands,
      ...itemWrites([folder], ticket),
    ],
    isRepeatable: false,
    parameters: { server: server.item.id, location },
    preview: () => ({ ...listing.preview(), would_write: folder }),
    async perform(watch) {
      const kept = await list(watch)
      const circumstances = { server, location, folder, lookup, means, by: ticket.caller.kind }
      const steps = await discoverySteps(kept.tools, circumstances)
      const { paths, warnings } = await writeTogether(steps.steps, circumstances)
      return {
        data: { ...dataOf(server, steps, paths), location },
        warnings: [...kept.warnings, ...steps.warnings, ...warnings],
      }
    },
  }
}

function dataOf(
  { name }: Server,
  { steps, quarantined }: DiscoverySteps,
  paths: ReadonlyMap<string, string>,
): JsonObject {
  const of = (state: Step['state']): readonly string[] =>
    steps.filter((step) => step.state === state).map(({ id }) => id)
  const [created, updated, unchanged, removed] = [
    of('created'),
    of('updated'),
    of('unchanged'),
    of('removed'),
  ]
  const counts = `${created.length} created, ${updated.length} updated, ${unchanged.length} unchanged, ${removed.length} removed`
  return {
    output: `Discovered "${name}": ${counts}`,
    mcp: name,
    tools: steps.map(({ id, tool, state, path }) => ({
      id,
      alias: `${name}_${id.slice(name.length + 1)}`,
      tool_name: tool,
      state: state === 'removed' ? 'missing' : state,
      path: paths.get(id) ?? path,
      ...(quarantined.has(tool) ? { quarantined: true } : {}),
    })),
    created,
    updated,
    unchanged,
    removed,
  }
}

/**
 * The person's own, where its name is one of ours: `code` loads `mcp_code`, and means it here too. What is shipped has the
 * tools that are shipped with it, and what is switched off is not started.
 */
async function otherServer(ref: Extract<Wish, { kind: 'discover' }>['ref'], lookup: Lookup): Promise<Server> {
  const item = await lookup.find(ref, 'mcp')
  if (item === null) throw notFound(ref, 'mcp')
  const server = await lookup.serverOf(item)
  if (server !== null) return server
  if (item.manifest.enabled === false) throw switchedOff(`Cannot discover "${item.id}": it`, item)
  if (item.space === 'builtin') {
    throw new KiwiError(
      'BUILTIN_PROTECTED',
      `Cannot discover "${item.id}": its tools are shipped with Kiwi as they are`,
    )
  }
  throw new KiwiError(
    'INVALID_MANIFEST',
    `Cannot discover "${item.id}": with a dot in it, its name could not be told from that of a tool`,
    { hint: 'Ask the person to call the server otherwise', details: { server: item.id, space: item.space } },
  )
}
