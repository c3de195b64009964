import type { DraftMeans, Request } from './draft-means.ts'
import type { DraftedUpstream } from './draft-upstream.ts'
import { draftUpstream } from './draft-upstream.ts'
import type { Hold } from './hold.ts'
import type { Plan } from './plan.ts'

/** How long it is believed: a program may come to lie elsewhere. */
const BELIEVED_MS = 1000

interface Kept {
  readonly circumstances: string
  readonly at: number
  readonly drafted: DraftedUpstream
}

const kept = new WeakMap<Plan, Kept>()

/**
 * How a server is reached, from one call of a plan to the next: everything but the arguments is the same, and to work it
 * out takes longer than the call. What is held is worked out anew, since what it may reach may have changed.
 */
export function keptUpstream(
  plan: Plan,
  request: Request,
  means: DraftMeans,
  hold: Hold | null,
): DraftedUpstream {
  const { effect } = plan
  if (effect.kind !== 'mcp') throw new TypeError('what is no tool of a server was to be called there')
  const draft = (): DraftedUpstream => draftUpstream({ ...plan, effect }, request, means, hold)
  if (hold !== null) return draft()
  const { principal, session, isOlder, projectPath, spaceRoot } = request
  const { grants, values } = means
  const circumstances = JSON.stringify([
    principal,
    effect.isPerSession || isOlder === true ? session : null,
    isOlder,
    projectPath,
    spaceRoot,
    grants,
    [...values],
  ])
  const now = performance.now()
  const before = kept.get(plan)
  if (before?.circumstances === circumstances && now - before.at < BELIEVED_MS) return before.drafted
  const drafted = draft()
  kept.set(plan, { circumstances, at: now, drafted })
  return drafted
}
