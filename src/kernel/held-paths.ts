import type { Draft } from '../chain/draft.ts'
import type { Demand } from './policy/rule.ts'

/** What a manifest has a sandbox let through is judged like what a call names: a sandbox is no way round a layer. */
export function heldPaths({ hold, plan }: Draft): readonly Demand[] {
  if (hold === null) return []
  const isChosen = plan.trust.level < 2
  return [
    ...hold.read.map((path): Demand => ({ op: 'read', path, isChosen })),
    ...hold.write.map((path): Demand => ({ op: 'write', path, isChosen })),
  ]
}
