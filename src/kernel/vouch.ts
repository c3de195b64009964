import { isOwn } from '../chain/trust.ts'
import { untrustedProject } from '../chain/trust-refusals.ts'
import type { Verified } from '../chain/verify.ts'
import { walk } from '../chain/walk.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { SignedBy } from '../spaces/statement.ts'
import type { Means } from './means.ts'

interface Checked {
  readonly executors: readonly string[]
  readonly verified: Verified
}

/** What is asked of an item that is to be signed, or to be put where it is trusted. */
interface Vouched {
  readonly verb: string
  readonly by: SignedBy
  readonly lookup: Lookup
  readonly means: Means
  /** Those of its chain, when somebody knows them already. */
  readonly executors?: readonly string[]
}

/**
 * What the signature of an item is worth. An agent cannot make its own what came with a project nobody trusts, nor
 * what a person's list of keys refuses.
 */
export async function mayVouch(item: Item, vouched: Vouched): Promise<Checked> {
  const { verb, by, lookup, means } = vouched
  const executors = vouched.executors ?? (await walk(item, lookup)).slice(1).map(({ id }) => id)
  const verified = await means.chain.verify(item, executors)
  if (by !== 'agent' || isOwn(verified)) return { executors, verified }
  const { projectPath } = lookup
  const isProjects = item.space === 'project' && projectPath !== null
  if (isProjects && !(await means.chain.judge.isTrusted(projectPath))) {
    throw untrustedProject(verb, item, projectPath)
  }
  const { reason } = verified
  if (reason !== 'key_revoked' && reason !== 'key_scope') return { executors, verified }
  throw new KiwiError('UNTRUSTED', `Cannot ${verb} "${item.id}": its key is not accepted (${reason})`, {
    hint: `Ask the person to review it and run: kiwi sign ${item.id}`,
    details: { reason, tool: item.id },
  })
}
