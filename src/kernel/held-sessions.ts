import type { Maybe } from '../shared/maybe.ts'
import type { StoredRun } from '../store/runs.ts'
import type { Store } from '../store/store.ts'

interface Holder {
  readonly principal: string
  readonly session: string
}

/** Sessions that stay inside of a run they have begun, whether or not their calls name it. */
export interface HeldSessions {
  readonly hold: (holder: Holder, runId: string) => void
  /** The run that was begun last and is not over; null for none. */
  readonly heldIn: (holder: Holder) => Maybe<string | null>
  /** Whether a session may act in a run: one that is held leaves it neither for a wider one nor for another's. */
  readonly mayName: (holder: Holder, runId: string) => Promise<boolean>
  /** Whether a session may end a run: what holds a session is ended by that one, or by one that it was begun in. */
  readonly mayEnd: (holder: Holder, runId: string) => Promise<boolean>
}

/** A session lives in one process, so it is remembered there; of more than these the oldest are long gone. */
const MOST_HELD = 10_000

export function openHeldSessions({ runs }: { readonly runs: Pick<Store['runs'], 'find'> }): HeldSessions {
  const held = new Map<string, readonly string[]>()
  const heldIn: HeldSessions['heldIn'] = (holder) => {
    const begun = held.get(keyOf(holder))
    return begun === undefined ? null : newestOf(begun, holder)
  }
  const newestOf = async (begun: readonly string[], holder: Holder): Promise<string | null> => {
    for (const id of begun.toReversed()) if ((await runs.find(id))?.closed_at === null) return id
    held.delete(keyOf(holder))
    return null
  }
  /** The run and those it was begun in, the nearest first. */
  const upFrom = async (runId: string): Promise<readonly StoredRun[]> => {
    const found: StoredRun[] = []
    for (let run = await runs.find(runId); run !== null;) {
      found.push(run)
      run = run.parent === null ? null : await runs.find(run.parent)
    }
    return found
  }
  return {
    heldIn,
    async mayName(holder, runId) {
      const within = await heldIn(holder)
      return within === null || (await upFrom(runId)).some(({ id }) => id === within)
    },
    async mayEnd(holder, runId) {
      const up = await upFrom(runId)
      const isHolding = up[0]?.session !== null || (await heldIn(holder)) !== null
      const isOwn = ({ principal, session }: StoredRun): boolean =>
        principal === holder.principal && session === holder.session
      return !isHolding || up.some(isOwn)
    },
    hold(holder, runId) {
      const key = keyOf(holder)
      held.set(key, [...(held.get(key) ?? []), runId])
      for (const oldest of [...held.keys()].slice(0, -MOST_HELD)) held.delete(oldest)
    },
  }
}

function keyOf({ principal, session }: Holder): string {
  return `${principal} ${session}`
}
