import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** A person has what search learnt from uses dropped: of one item, or all of it. */
export async function forgetWork(
  { itemId }: Extract<Wish, { kind: 'forget' }>,
  ticket: Ticket,
  { store }: Means,
): Promise<Work> {
  assertPerson(ticket, 'learned --forget')
  const uses = await store.uses.read()
  const meant = itemId === null ? uses : uses.filter((use) => use.item_id === itemId)
  if (itemId !== null && meant.length === 0) {
    throw new KiwiError('NOT_FOUND', `Cannot forget "${itemId}": nothing was learnt of it`, {
      hint: 'kiwi learned shows what was',
    })
  }
  return {
    item: { id: 'kiwi-mcp', version: null, space: null },
    action: 'forget',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'forget' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { item_id: itemId },
    redact: keepAll,
    preview: () => ({ item_id: itemId, uses: meant.length }),
    warnings: [],
    async perform() {
      const forgotten = await store.uses.forget(itemId)
      const what = itemId === null ? 'all that was learnt' : `what was learnt of ${itemId}`
      return { data: { output: `Forgot ${what}: ${forgotten}`, forgotten }, warnings: [] }
    },
  }
}
