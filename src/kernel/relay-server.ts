import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { switchedOff } from '../spaces/switch-on.ts'
import type { Means } from './means.ts'
import { trustedPlan } from './run-work.ts'

/** The server that a client sees whole: one of the person's, also where its name is that of a group of ours. */
export function relayServer(ref: ItemRef, lookup: Lookup, means: Means): Maybe<Server> {
  lookup.freshen()
  const { name } = ref
  if (name.includes('.')) return noServer(ref, lookup, means)
  return after(
    lookup.serverFor(name),
    (server) =>
      server ?? after(lookup.serverFor(`mcp_${name}`), (other) => other ?? noServer(ref, lookup, means)),
  )
}

async function noServer(ref: ItemRef, lookup: Lookup, means: Means): Promise<never> {
  const { name } = ref
  // What stands against it is said first.
  const { plan } = await trustedPlan({ ref, itemType: 'mcp' }, lookup, means)
  const { item } = plan
  // What is shipped is another matter.
  if (item.space !== 'builtin' && item.manifest.enabled === false)
    throw switchedOff(`Cannot pass on to "${name}": it`, item)
  throw new KiwiError(
    'NOT_FOUND',
    `Cannot pass on to "${name}": no server of that name was added, and what is shipped is not shown whole`,
    { hint: 'Add the server with kiwi add, or use the four tools' },
  )
}

/** Exactly this id: nothing in it is a version or a category. */
export function refTo(id: string): ItemRef {
  const name = ItemName.safeParse(id)
  if (name.success) return { name: name.data, category: null, version: null }
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot call ${JSON.stringify(id.slice(0, 160))}: it is no name of a tool`,
  )
}

const narrowed = new WeakMap<Lookup, Lookup>()

/** The same without files: of tools only what servers list is found. */
export function listedOnly(lookup: Lookup): Lookup {
  const made: Lookup = narrowed.get(lookup) ?? {
    ...lookup,
    get generation() {
      return lookup.generation
    },
    find: (ref, itemType) => lookup.find(ref, itemType, itemType === 'tool' ? 'mcp' : undefined),
  }
  narrowed.set(lookup, made)
  return made
}
