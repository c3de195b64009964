import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** As it is on record: what is gone is checked against it. */
export const ERASE = 'audit.erase'

/** A person has what a call was made with, and what it said, dropped. That it was made stays, and so does this. */
export async function eraseWork(
  { callId }: Extract<Wish, { kind: 'erase' }>,
  ticket: Ticket,
  { store }: Means,
): Promise<Work> {
  assertPerson(ticket, 'audit --erase')
  const records = await store.journal.read({ limit: 2, call_id: callId })
  if (records.length === 0) {
    throw new KiwiError('NOT_FOUND', `Cannot erase "${callId}": no record has this call id`, {
      hint: 'kiwi audit --json shows the call ids',
    })
  }
  return {
    item: { id: 'kiwi-mcp', version: null, space: null },
    action: 'erase',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'erase' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { call_id: callId },
    redact: keepAll,
    preview: () => ({ call_id: callId, records: records.length }),
    warnings: [],
    async perform() {
      const erased = await store.journal.erase(callId)
      return { data: { output: `Erased what ${erased} records of ${callId} held`, erased }, warnings: [] }
    },
  }
}
