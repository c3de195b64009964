import type { Plan } from '../../chain/plan.ts'
import type { JsonObject } from '../../shared/json.ts'
import { parameterNames } from '../../spaces/input-schema.ts'
import { inputsRefused } from './check-inputs.ts'

/**
 * What the schemas of inputs ask for beyond a type and a list of values: bounds, patterns, what lists and objects hold.
 * Plans are those of a directive and of all it is built on, the nearest first: its word counts for an input.
 */
export function checkBounds(directive: string, inputs: JsonObject, plans: readonly Plan[]): void {
  const checked = new Set<string>()
  const invalid = plans.flatMap((plan) => {
    const own = [...parameterNames(plan.item.manifest)].filter((name) => !checked.has(name))
    for (const name of own) checked.add(name)
    const given = Object.entries(inputs).filter(([name]) => own.includes(name))
    // Checking fills in defaults, and what is missing was said before.
    return plan.checkParameters(structuredClone(Object.fromEntries(given)))?.invalid ?? []
  })
  if (invalid.length > 0) throw inputsRefused(directive, [], invalid)
}
