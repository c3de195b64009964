import type { Store } from '../store/store.ts'

interface Holder {
  readonly principal: string
  readonly session: string
}

/** Sessions that stay inside of a run they have begun, whether or not their calls name it. */
export interface HeldSessions {
  readonly hold: (holder: Holder, runId: string) => void
  /** The run that was begun last and is not over; null for none. */
  readonly heldIn: (holder: Holder) => Promise<string | null>
}

/** A session lives in one process, so it is remembered there; of more than these the oldest are long gone. */
const MOST_HELD = 10_000

export function openHeldSessions({ runs }: Pick<Store, 'runs'>): HeldSessions {
  const held = new Map<string, readonly string[]>()
  return {
    hold(holder, runId) {
      const key = keyOf(holder)
      held.set(key, [...(held.get(key) ?? []), runId])
      for (const oldest of [...held.keys()].slice(0, -MOST_HELD)) held.delete(oldest)
    },
    async heldIn(holder) {
      const begun = held.get(keyOf(holder))
      if (begun === undefined) return null
      for (const id of begun.toReversed()) if ((await runs.find(id))?.closed_at === null) return id
      held.delete(keyOf(holder))
      return null
    },
  }
}

function keyOf({ principal, session }: Holder): string {
  return `${principal} ${session}`
}
