import type { Plan } from '../chain/plan.ts'
import { neededBy } from '../chain/secret-places.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { liftSecrets } from '../spaces/lift-secrets.ts'
import type { Lifted } from '../spaces/lift-secrets.ts'
import type { ServerEntry } from '../spaces/server-entry.ts'
import { serverId } from '../spaces/server-entry.ts'
import { ItemName } from '../shared/ids.ts'
import type { Ticket } from './call.ts'
import { hostOf } from './grant-work.ts'
import type { Means } from './means.ts'
import { rootOf } from './run-work.ts'

interface Names {
  /** What stands for something already, and gets those of this one. */
  readonly taken: Map<string, string>
  /** What others ask for by name, whatever that is. */
  readonly meant: ReadonlySet<string>
}

/** An entry with names in the place of credentials; `secrets` are those that the vault is to keep. */
export async function liftEntry(
  name: string,
  entry: ServerEntry,
  { secrets: { vault }, secretPatterns: patterns }: Means,
  { taken, meant }: Names = { taken: new Map(), meant: new Set() },
): Promise<Lifted> {
  const kept = await vault.read()
  const known = (secret: string): string | undefined => {
    const there = kept.get(secret)
    const unlessMeant = meant.has(secret) ? '' : undefined
    // What a program gives is no value that was typed: the name stands for something else.
    return taken.get(secret) ?? (there === undefined ? unlessMeant : (there.value ?? ''))
  }
  const lifted = await liftSecrets(name, entry, { patterns, known })
  for (const [secret, value] of lifted.secrets) taken.set(secret, value)
  return lifted
}

/** What a server still needs of a person before it can be used. */
export interface ServerNeeds {
  /** Names of the variables that it asks for and nobody has set, or granted. */
  readonly unset: readonly string[]
  readonly ungranted: readonly string[]
}

/** Grants these secrets to a server as it is now: the person who named it typed them. Gives what it still needs. */
export async function settleServer(
  name: string,
  granted: readonly string[],
  lookup: Lookup,
  { ticket, means }: { readonly ticket: Ticket; readonly means: Means },
): Promise<ServerNeeds> {
  const plan = await planOf(name, lookup, means)
  if (plan === null) return { unset: [], ungranted: [] }
  const digest = await means.chain.digest(plan.items, rootOf(plan.item, lookup))
  const host = hostOf(plan.effect)
  const common = {
    principal: '*',
    tool: plan.item.id,
    digest,
    sink: host === null ? null : `host:${host}`,
    granted_at: new Date(means.clock.now()).toISOString(),
    granted_by: ticket.caller.principal,
  }
  if (granted.length > 0) await means.store.grants.give(granted.map((secret) => ({ ...common, secret })))
  const asked = plan.effect.kind === 'mcp' ? neededBy(plan.effect.server) : []
  const { values, commands } = await means.secrets.find(new Set(asked))
  const held = (await means.store.grants.read()).filter(
    (grant) => grant.tool === plan.item.id && grant.digest === digest,
  )
  return {
    unset: asked.filter((secret) => !values.has(secret) && !commands.has(secret)),
    ungranted: asked.filter((secret) => !held.some((grant) => grant.secret === secret)),
  }
}

async function planOf(name: string, lookup: Lookup, { chain }: Means): Promise<Plan | null> {
  const ref = { name: ItemName.parse(serverId(name)), category: null, version: null }
  const item = await lookup.find(ref, 'mcp')
  return item === null ? null : chain.resolver.plan(item, lookup)
}

/** The commands that give a server what it needs, in order. */
export function nextCommands(name: string, { unset, ungranted }: ServerNeeds): readonly string[] {
  return [
    ...unset.map((secret) => `kiwi secret set ${secret}`),
    ...(ungranted.length === 0 ? [] : [`kiwi grant ${serverId(name)} ${ungranted.join(' ')}`]),
  ]
}
