import type { Maybe } from '../shared/maybe.ts'
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
  begin(): Maybe<void>
  /** The same for who is in no call. In the midst of one it is not looked again, unless `now`, after something was changed. */
  freshen(now?: boolean): void
}

/** What a call asks for in between comes within this time of its look; whoever comes later looks for himself. */
const ONE_LOOK_MS = 20

export function openFreshness(spaces: readonly FileSpace[], shelf: Shelf): Freshness {
  let seen = ''
  let generation = 0
  let lookedAt = -Infinity
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
    begin() {
      lookedAt = -Infinity
      try {
        for (const space of spaces) space.freshen()
        lookedAt = performance.now()
      } catch {
        // Whoever needs the files looks again, and says so.
      }
      const learning = spaces.map(learn).filter((one) => one instanceof Promise)
      if (learning.length === 0) return takeNotice()
      return Promise.all(learning).then(() => takeNotice())
    },
    freshen(now) {
      if (now !== true && performance.now() - lookedAt < ONE_LOOK_MS) return
      for (const space of spaces) space.freshen(now)
      takeNotice(now)
    },
  }
}

/** What cannot be read is said where it is used. */
function learn(space: FileSpace): Maybe<void> {
  try {
    const learning = space.learn()
    return learning instanceof Promise ? learning.catch(() => undefined) : learning
  } catch {
    return undefined
  }
}
