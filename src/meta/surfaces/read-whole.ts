import type { Extended } from '../../spaces/directive/extend.ts'
import { readExtended } from '../../spaces/directive/extend.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'

/** A directive with all it is built on, as a run of it would find them. */
export function readWhole(item: Item, lookup: Lookup): Promise<Extended> {
  return readExtended(item, (ref, by) => lookup.baseOf(by, ref))
}
