import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Call } from './call.ts'
import type { Demand } from './policy/rule.ts'
import { resourceOf } from './policy/rule.ts'

/**
 * What an approval is bound to: the content that runs, its arguments, what they lead to (links and the PATH may have
 * changed), what holds it, where and for whom, and every rule that judged it. The connection it comes over is no part of it, so that a yes outlives a restart.
 */
export function callHash({ work, ticket, projectPath, policy, run }: Call): string {
  if (work === null || policy === null) throw new TypeError('a call has no hash before it was judged')
  return sha256(
    canonicalJson({
      tool: work.item.id,
      version: work.item.version,
      space: work.item.space,
      action: work.action,
      digest: work.digest ?? null,
      parameters: work.parameters ?? ticket.parameters ?? {},
      project: projectPath,
      principal: ticket.caller.principal,
      run: run?.id ?? null,
      reached: work.redact(work.demands.map((demand) => `${demand.op} ${reachedBy(demand)}`)),
      held: work.heldBy ?? null,
      layers: policy.layers.map(({ hash }) => hash),
    }),
  )
}

/** The arguments of a program are those of the call. */
function reachedBy(demand: Demand): string {
  return demand.op === 'exec' ? demand.program : resourceOf(demand)
}
