import { isOwn } from '../chain/trust.ts'
import { untrustedProject } from '../chain/trust-refusals.ts'
import { walk } from '../chain/walk.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Means } from './means.ts'

/**
 * An agent cannot make its own what came with a project nobody trusts, nor what a person's list of keys refuses.
 * Whatever signs an item that is there already, or puts it where it would be trusted, asks this first.
 */
export async function assertMayVouch(
  verb: string,
  item: Item,
  lookup: Lookup,
  { chain }: Means,
): Promise<void> {
  // Without its chain nobody can tell whose it is, so it counts as nobody's.
  const below = await walk(item, lookup).catch(() => [item])
  const verified = await chain.verify(
    item,
    below.slice(1).map(({ id }) => id),
  )
  if (isOwn(verified)) return
  const { projectPath } = lookup
  const isInert =
    item.space === 'project' && projectPath !== null && !(await chain.judge.isTrusted(projectPath))
  if (isInert) throw untrustedProject(verb, item, projectPath)
  const { reason } = verified
  if (reason !== 'key_revoked' && reason !== 'key_scope') return
  throw new KiwiError('UNTRUSTED', `Cannot ${verb} "${item.id}": its key is not accepted (${reason})`, {
    hint: `Ask the person to review it and run: kiwi sign ${item.id}`,
    details: { reason, tool: item.id },
  })
}
