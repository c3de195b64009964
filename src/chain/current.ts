import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Plan } from './plan.ts'

type Resolve = (ref: ItemRef, lookup: Lookup, itemType?: ItemType) => Plan | Promise<Plan>

/** Resolves, and looks whether the files of the plan are still what was read; if not, they are read again. */
export function createCurrent(resolve: Resolve): Resolve {
  return (ref, lookup, itemType) => {
    lookup.freshen()
    const plan = resolve(ref, lookup, itemType)
    if (plan instanceof Promise) return settle(plan, lookup, () => resolve(ref, lookup, itemType))
    if (isCurrent(plan, lookup)) return plan
    lookup.freshen(true)
    return resolve(ref, lookup, itemType)
  }
}

/** What is missing may have been made a moment ago, and what was read may have changed since. */
async function settle(made: Promise<Plan>, lookup: Lookup, again: () => Plan | Promise<Plan>): Promise<Plan> {
  const before = lookup.generation
  try {
    const plan = await made
    if (isCurrent(plan, lookup)) return plan
    lookup.freshen(true)
  } catch (error) {
    lookup.freshen(true)
    if (lookup.generation === before) throw error
  }
  return again()
}

function isCurrent({ items }: Plan, lookup: Lookup): boolean {
  return items.every((item) => lookup.isCurrent(item))
}
