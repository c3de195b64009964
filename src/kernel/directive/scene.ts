import type { JsonObject } from '../../shared/json.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { Ticket } from '../call.ts'
import type { ItemJudge } from '../item-demand.ts'
import { judgedItem } from '../item-demand.ts'
import type { Means } from '../means.ts'
import type { Policy } from '../policy/policy.ts'
import type { Layer, Rule } from '../policy/rule.ts'

/** What a directive is put into when its tools are gathered. */
export interface Scene {
  readonly directive: Directive
  /** What it grants, asks about and denies. */
  readonly granted: readonly Rule[]
  /** What the runs above leave of that. */
  readonly left: readonly Rule[]
  /** What it says it will use, as rules; null where it does not say. */
  readonly wanted: readonly Rule[] | null
  /** What all layers together say of an item, those of the run among them. */
  readonly judge: ItemJudge
  readonly layers: readonly Layer[]
  readonly policy: Policy
  readonly lookup: Lookup
  readonly ticket: Ticket
  readonly means: Means
}

/** One key of `tool_context`, and what of it was left out. */
export interface Part {
  readonly key: string
  readonly entry: JsonObject
  readonly warnings: readonly string[]
}

/** A tool as whoever follows the directive is told it. */
export function shownTool(item: Item, { judge }: Scene): JsonObject {
  const { id, manifest } = item
  const { description, input_schema: schema, parameters } = manifest
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the manifest was read from JSON
  const list = parameters as unknown as JsonObject[]
  return {
    name: id,
    description,
    ...(judge.needsApproval(judgedItem(item)) ? { needs_approval: true } : {}),
    ...(schema === undefined ? { parameters: list } : { inputSchema: schema }),
  }
}

/** Why something that is wanted is not there, with the line that would change it. */
export function leftOut(what: string, remedy: string): string {
  return `${what} is left out: ${lowered(remedy)}`
}

/** What to do, in the middle of a sentence. */
export function lowered(remedy: string): string {
  return `${remedy.charAt(0).toLowerCase()}${remedy.slice(1)}`
}
