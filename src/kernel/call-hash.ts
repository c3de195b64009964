import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Call } from './call.ts'

/**
 * What an approval is bound to: the content that runs, its arguments, where and for whom, and every rule that judged
 * it. The connection it comes over is no part of it, so that a yes outlives a restart.
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
      layers: policy.layers.map(({ hash }) => hash),
    }),
  )
}
