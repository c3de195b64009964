import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Call } from './call.ts'
import type { Layer } from './policy/rule.ts'

/**
 * What an approval is bound to: the content that runs, its arguments, where and for whom, and every rule that judged
 * it. The connection it comes over is no part of it, so that a yes outlives a restart.
 */
export function callHash({ work, ticket, projectPath, policy }: Call): string {
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
      layers: policy.layers.map(layerHash),
    }),
  )
}

const known = new WeakMap<Layer, string>()

/** Layers are frozen, and one serves many calls. */
function layerHash(layer: Layer): string {
  const hash = known.get(layer) ?? sha256(canonicalJson(layer))
  known.set(layer, hash)
  return hash
}
