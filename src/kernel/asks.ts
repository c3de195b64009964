import type { Call } from './call.ts'
import { parametersOf } from './permission.ts'
import { decide } from './policy/decide.ts'
import { isFixed } from './policy/match.ts'
import type { Verdict } from './policy/rule.ts'

/** Every rule that asks about a call: a person who answers for one of them has not answered for the others. */
export function asksOf(call: Call): readonly Verdict[] {
  const { work, policy, verdict } = call
  if (work === null || policy === null || verdict === null) return []
  const parameters = parametersOf(call, work)
  const judged = policy.layers.flatMap((layer) =>
    work.demands
      .filter((demand) => layer.isBase || !isFixed(demand))
      .map((demand) => decide([layer], [demand], parameters)),
  )
  const asks = new Map<string, Verdict>()
  for (const ask of [verdict, ...judged].filter(({ effect }) => effect === 'ask'))
    asks.set(`${ask.layer} ${ask.rule ?? ''}`, ask)
  return [...asks.values()]
}
