import { KiwiError } from '../shared/errors.ts'
import { groupOf, plainName, serverName } from '../shared/groups.ts'
import { ItemName } from '../shared/ids.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { SpaceName } from '../store/store.ts'
import type { Location, Ticket } from './call.ts'
import type { Means } from './means.ts'

interface Circumstances {
  readonly ticket: Ticket
  readonly lookup: Lookup
  readonly means: Means
}

/** Refuses what an agent writes as a server that is called like one which a person configured, or which is shipped and on. */
export async function assertUnshadowed(
  verb: string,
  { id, manifest }: Item,
  location: Location,
  { ticket, lookup, means }: Circumstances,
): Promise<void> {
  if (ticket.caller.kind !== 'agent' || manifest.tool_type !== 'mcp_server') return
  for (const space of SEEN) {
    for (const name of spellingsOf(id)) {
      const there = await lookup.find({ name, category: null, version: null }, 'mcp', space)
      // Our own are meant by their very name, which nobody else can have.
      if (there === null || groupOf(there.id) !== undefined) continue
      if (there.space === 'builtin' && there.manifest.enabled === false) continue
      const isItself = there.id === id && space === location && there.form !== 'entry'
      if (!isItself && (await means.chain.judge.isVouched(there))) throw shadowed(verb, id, there)
    }
  }
}

const SEEN: readonly SpaceName[] = ['project', 'user', 'builtin', 'registry']

/** `acme`, `mcp_acme` and `acme_mcp` are said of the same server. */
function spellingsOf(id: string): readonly ItemName[] {
  const name = plainName(id)
  return [name, `mcp_${name}`, `${name}_mcp`].flatMap((spelled) => {
    const parsed = ItemName.safeParse(spelled)
    return parsed.success ? [parsed.data] : []
  })
}

function shadowed(verb: string, id: string, there: Item): KiwiError {
  const name = serverName(there.id)
  return new KiwiError(
    'CONFLICT',
    `Cannot ${verb} "${id}": a person has a server "${name}" already, in ${there.space}`,
    {
      hint: `Choose another name, or ask the person to change theirs: kiwi add ${name}`,
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: there.id, source: there.space } },
      details: { server: there.id, space: there.space, path: there.path },
    },
  )
}
