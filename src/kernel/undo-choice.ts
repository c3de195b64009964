import { KiwiError } from '../shared/errors.ts'
import type { Checkpoint } from '../store/undo.ts'
import type { Caller } from './call.ts'
import type { Means } from './means.ts'

/** The calls that an id stands for, newest first: one call, or all of a run or session that still stand. */
export async function chosenCheckpoints(
  id: string,
  { principal, kind }: Caller,
  { store }: Means,
): Promise<readonly Checkpoint[]> {
  const found = await store.undo.find(id)
  // A person may take back what their agents did; of another principal's calls nothing is told.
  const own = found.filter((checkpoint) => kind === 'person' || checkpoint.principal === principal)
  const [first] = own
  if (first === undefined) {
    throw new KiwiError('NOT_FOUND', `Cannot undo "${id}": nothing is kept of such a call, run or session`, {
      hint: 'Give the undo_id of a reply; what cannot be undone, or is too old, has none',
      details: { item_id: id },
    })
  }
  const chosen = first.call_id === id ? [first] : standing(own)
  const [only] = chosen
  if (only === undefined || (chosen.length === 1 && only.state === 'undone')) throw alreadyUndone(id, first)
  for (const { call_id, state } of chosen) {
    if (state === 'open' && (await isUnderWay(call_id, store))) {
      throw new KiwiError('CONFLICT', `Cannot undo "${call_id}": the call is under way`, {
        hint: 'Wait until it has ended, then undo it',
        retryable: true,
      })
    }
  }
  return chosen
}

/** What was undone stands again once its undo, which is newer, is taken back with it. */
function standing(newestFirst: readonly Checkpoint[]): readonly Checkpoint[] {
  const chosen = new Map<string, Checkpoint>()
  for (const checkpoint of newestFirst) {
    const { state, undone_by: by } = checkpoint
    if (state !== 'undone' || (by !== null && chosen.has(by))) chosen.set(checkpoint.call_id, checkpoint)
  }
  return [...chosen.values()]
}

function alreadyUndone(id: string, { undone_by: by }: Checkpoint): KiwiError {
  return new KiwiError('CONFLICT', `Cannot undo "${id}": it was undone already`, {
    hint: by === null ? 'Nothing is left to do' : `Undo "${by}" to have it again`,
    details: { undone_by: by },
  })
}

async function isUnderWay(callId: string, { journal }: Means['store']): Promise<boolean> {
  const records = await journal.read({ limit: 10, call_id: callId })
  return !records.some(({ kind }) => kind === 'outcome')
}
