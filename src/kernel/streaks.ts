import { z } from 'zod'
import type { Clock } from '../shared/clock.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Store } from '../store/store.ts'
import type { Call } from './call.ts'
import { holderOf } from './holder.ts'

/** How the calls of one session or run have gone. */
const Streak = z.object({
  /** The last call that ran; null before the first, and when it was one that may be repeated. */
  hash: z.string().nullable(),
  end: z.string().nullable(),
  /** How often that very call was made in a row, and how often it ended so in a row. */
  repeats: z.number(),
  sameEnds: z.number(),
  /** Calls that were refused: in a row, and in all. */
  denials: z.number(),
  allDenials: z.number(),
})
export type Streak = Readonly<z.infer<typeof Streak>>

const NONE: Streak = { hash: null, end: null, repeats: 0, sameEnds: 0, denials: 0, allDenials: 0 }

/** Those of runs are kept in the store. A session ends with its connection, so its own are kept here, the latest only. */
export interface Streaks {
  of(call: Call): Maybe<Streak>
  put(call: Call, streak: Streak): Maybe<void>
}

const MOST_SESSIONS = 1000

export function openStreaks(store: Store, clock: Clock): Streaks {
  const sessions = new Map<string, Streak>()
  return {
    of(call) {
      if (call.ticket.runId === undefined) return sessions.get(holderOf(call)) ?? NONE
      const kept = store.limits.streak(holderOf(call))
      return kept.then((text) => (text === null ? NONE : Streak.parse(JSON.parse(text))))
    },
    put(call, streak) {
      const holder = holderOf(call)
      if (call.ticket.runId !== undefined)
        return store.limits.setStreak(holder, JSON.stringify(streak), clock.now())
      // The one that was not used for longest goes first.
      sessions.delete(holder)
      sessions.set(holder, streak)
      const [oldest] = sessions.keys()
      if (sessions.size > MOST_SESSIONS && oldest !== undefined) sessions.delete(oldest)
      return undefined
    },
  }
}
