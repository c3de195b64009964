import type { Call } from './call.ts'
import { decide } from './policy/decide.ts'
import type { Verdict } from './policy/rule.ts'

/** Every rule that asks about a call: a person who answers for one of them has not answered for the others. */
export function asksOf({ work, policy, verdict }: Call): readonly Verdict[] {
  if (work === null || policy === null || verdict === null) return []
  const judged = policy.layers.flatMap((layer) => work.demands.map((demand) => decide([layer], [demand])))
  const asks = new Map<string, Verdict>()
  for (const ask of [verdict, ...judged].filter(({ effect }) => effect === 'ask'))
    asks.set(`${ask.layer} ${ask.rule ?? ''}`, ask)
  return [...asks.values()]
}
