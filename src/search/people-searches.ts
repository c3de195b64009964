import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { PastSearch, Uses } from '../store/uses.ts'

/** What a search is remembered by. */
export type Found = Pick<PastSearch, 'words' | 'items'>

/** The project it is done in; null outside of any. */
export type Where = () => Promise<string | null>

interface Means {
  readonly uses: Pick<Uses, 'remember' | 'recall'>
  readonly clock: Clock
  readonly log: Log
  readonly rememberedMs: number
}

/** What people's searches showed: their next command is another process. */
interface PeopleSearches {
  remember(principal: string, found: Found, where: Where): void
  /** Tells the latest search that showed it, if there is one. */
  recall(principal: string, itemId: string, where: Where, tell: (found: Found) => void): void
  settled(): Promise<void>
}

export function openPeopleSearches({ uses, clock, log, rememberedMs }: Means): PeopleSearches {
  let going: Promise<void> = Promise.resolve()
  const next = (what: string, work: () => Promise<void>): void => {
    going = going.then(work).catch((error: unknown) => {
      log.warn(`learning.${what}`, { reason: messageOf(error) })
    })
  }
  return {
    remember(principal, { words, items }, where) {
      const now = clock.now()
      next('unwritable', async () => {
        const search = { principal, project: await where(), words, items }
        await uses.remember(search, now, now - rememberedMs)
      })
    },
    recall(principal, itemId, where, tell) {
      const since = clock.now() - rememberedMs
      next('unreadable', async () => {
        const past = await uses.recall({ principal, project: await where() }, since)
        const search = past.find(({ items }) => items.has(itemId))
        if (search !== undefined) tell(search)
      })
    },
    settled: () => going,
  }
}
