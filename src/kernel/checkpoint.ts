import { KiwiError, messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Call, Outcome, Undo } from './call.ts'
import type { Stage } from './gate.ts'
import { keepCall } from './keep-call.ts'
import { keepFiles } from './keep-files.ts'
import { keepTree } from './keep-tree.ts'
import type { Finished, Kept } from './kept.ts'
import { nothingKept } from './kept.ts'
import type { Means } from './means.ts'

/** Keeps what the call may change, so that it can be undone. No effect yet. */
export const checkpoint: Stage = (call, next, means) => {
  const undo = call.work?.undo
  return undo === undefined || undo.tier === 'never' ? next() : keeping(call, undo, next, means)
}

async function keeping(
  call: Call,
  undo: Exclude<Undo, { tier: 'never' }>,
  next: () => Promise<Outcome>,
  means: Means,
): Promise<Outcome> {
  const kept = await begin(call, undo, means)
  call.warnings.push(...kept.warnings)
  let outcome: Outcome
  try {
    outcome = await next()
  } catch (error) {
    const { isKept } = await finish(kept, null, means)
    throw isKept && error instanceof KiwiError ? error.withDetails({ undo_id: call.ticket.callId }) : error
  }
  const { isKept, warnings } = await finish(kept, outcome, means)
  return {
    ...outcome,
    // The id alone: what was there before is nobody's but the person's.
    data: isKept ? { ...outcome.data, undo_id: call.ticket.callId } : outcome.data,
    warnings: [...outcome.warnings, ...warnings],
  }
}

async function begin(call: Call, undo: Exclude<Undo, { tier: 'never' }>, means: Means): Promise<Kept> {
  try {
    switch (undo.tier) {
      case 'files':
        return await keepFiles(call, undo.paths, means)
      case 'tree':
        return await keepTree(call, undo.root, means)
      case 'call':
        return await keepCall(call, undo, means)
    }
  } catch (error) {
    // The person decides by its permissions what may run; this only says that there is no way back.
    return nothingKept(messageOf(error))
  }
}

async function finish(kept: Kept, end: Outcome | null, means: Means): Promise<Finished> {
  try {
    const finished = await kept.finish(end)
    if (finished.isKept) await trim(means)
    return finished
  } catch (error) {
    return { isKept: false, warnings: [`this call cannot be undone: ${messageOf(error)}`] }
  }
}

const DAY_MS = 24 * 60 * 60 * 1000

async function trim({ store, clock }: Means): Promise<void> {
  const { undoBytes: bytes, undoFiles: files, undoDays } = LIMITS
  await store.undo.trim({ bytes, files, since: clock.now() - undoDays * DAY_MS })
}
