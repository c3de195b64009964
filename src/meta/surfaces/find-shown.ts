import { judgedItem } from '../../kernel/item-demand.ts'
import { KiwiError } from '../../shared/errors.ts'
import { parseItemRef } from '../../shared/ids.ts'
import type { ItemType } from '../../shared/tool-type.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { MetaCall } from '../context.ts'
import { findItem } from '../find-item.ts'
import { deniedText } from '../judged.ts'

export interface Shown {
  readonly item: Item
  readonly lookup: Lookup
}

/** The item that an id leads to. What nobody may use here is in no list, and not shown by its id either. */
export async function findShown(id: string, itemType: ItemType, call: MetaCall): Promise<Shown> {
  const lookup = await call.lookupAt(undefined)
  const item = await findIn(lookup, id, itemType, call)
  return { item, lookup }
}

/** The same where the spaces are known already. */
export async function findIn(
  lookup: Lookup,
  id: string,
  itemType: ItemType,
  { kernel }: Pick<MetaCall, 'kernel'>,
): Promise<Item> {
  const item = await findItem(lookup, parseItemRef(id), itemType)
  const denied = (await kernel.itemJudge(lookup.projectPath)).refusalOf(judgedItem(item))
  if (denied === null) return item
  throw new KiwiError('PERMISSION_DENIED', `Cannot show "${item.id}": ${deniedText(denied)}`, {
    hint: denied.remedy,
    details: { layer: denied.layer, rule: denied.rule },
  })
}

/**
 * Why a text is withheld, or null: a client shows it, or gives it to a model, with no word of ours beside it, so what
 * nobody vouches for any more must not be heard there.
 */
export async function whyWithheld(
  items: readonly Item[],
  lookup: Lookup,
  { kernel }: Pick<MetaCall, 'kernel'>,
): Promise<KiwiError | null> {
  const chains = await Promise.all(items.map((item) => kernel.chainOf(item, lookup)))
  return chains.find(({ refusal }) => refusal !== null)?.refusal ?? null
}

/** Refuses to show such a text. */
export async function assertVouched(
  items: readonly Item[],
  lookup: Lookup,
  call: Pick<MetaCall, 'kernel'>,
): Promise<void> {
  const why = await whyWithheld(items, lookup, call)
  if (why !== null) throw why.withMessage(why.message.replace(/^Cannot run/, 'Cannot show'))
}
