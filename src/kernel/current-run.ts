import type { Clock } from '../shared/clock.ts'
import { LIMITS } from '../shared/limits.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'

interface CurrentMeans {
  readonly store: {
    readonly runs: Pick<Store['runs'], 'find' | 'close'>
    readonly journal: Pick<Store['journal'], 'read'>
  }
  readonly clock: Clock
}

const IDLE_MS = LIMITS.idleRunHours * 3_600_000
const MOST_KEPT = 1000

/** Runs as they are now: one that was left alone for so long is over. Many clients never say that they are done. */
export function createCurrentRun({ store, clock }: CurrentMeans): (id: string) => Promise<StoredRun | null> {
  /** When each was last known to be used. */
  const used = new Map<string, number>()
  return async (id) => {
    const run = await store.runs.find(id)
    if (run === null || run.closed_at !== null) return run
    const before = clock.now() - IDLE_MS
    if ((used.get(id) ?? Date.parse(run.opened_at)) >= before) return run
    const [last] = await store.journal.read({ session: id, limit: 1 })
    if (last === undefined || last.wall < before) {
      await store.runs.close(id, new Date(clock.now()).toISOString())
      return store.runs.find(id)
    }
    if (used.size >= MOST_KEPT) used.clear()
    used.set(id, last.wall)
    return run
  }
}
