import type { FileSpace } from './file-space.ts'
import type { Shelf } from './shelf.ts'

/** How new what is known of the spaces is. */
export interface Freshness {
  /** Grows when anything an id could lead to has changed. */
  readonly generation: number
  /**
   * A call begins: takes notice of what changed on disk and in the store, once for all of it, and gets to know the
   * credentials that are written out where servers are named; what cannot be read is said where it is used.
   */
  begin(): Promise<void>
  /** The same for who is in no call, or has just changed something: `now` looks again in the middle of one. */
  freshen(now?: boolean): void
}

export function openFreshness(spaces: readonly FileSpace[], shelf: Shelf): Freshness {
  let seen = ''
  let generation = 0
  let hasLooked = false
  const takeNotice = (now?: boolean): void => {
    const state = `${spaces.map((space) => space.generation).join()};${shelf.freshen(now !== true)}`
    if (state === seen) return
    seen = state
    generation += 1
  }
  return {
    get generation() {
      return generation
    },
    async begin() {
      hasLooked = false
      try {
        for (const space of spaces) space.freshen()
        hasLooked = true
      } catch {
        // Whoever needs the files looks again, and says so.
      }
      for (const space of spaces) await space.learn().catch(() => undefined)
      takeNotice()
    },
    freshen(now) {
      if (hasLooked && now !== true) return
      for (const space of spaces) space.freshen(now)
      takeNotice(now)
    },
  }
}
