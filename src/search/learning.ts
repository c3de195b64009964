import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import type { Log } from '../shared/log.ts'
import type { Limits } from '../store/limits.ts'
import type { NewUse, UsePlace, Uses } from '../store/uses.ts'
import type { Ranking } from './fuse.ts'
import { learnableWords } from './learnable-words.ts'
import type { Found, Where } from './people-searches.ts'
import { openPeopleSearches } from './people-searches.ts'
import { useRankings } from './use-rankings.ts'

/** Who searches and runs: what one session found, only the same session uses. */
interface Who {
  readonly principal: string
  readonly session: string
  /** A person's commands are a session each: what one found in a project, the next ones there use. */
  readonly kind?: 'agent' | 'person'
}

/** An item that was shown. */
type ShownItem = Pick<NewUse, 'row' | 'item_id'>

/** Learns which items are used after which searches. */
export interface Learning {
  /** A search was answered with these. */
  shown(who: Who, query: string, items: readonly ShownItem[], where?: Where): void
  /** An item was run, and well: whatever the session found it by is remembered. Costs an agent's call a look into a map. */
  used(who: Who, itemId: string, where?: Where): void
  /** What like searches led to, in these places. What cannot be read raises nothing. */
  rankings(query: string, places: readonly UsePlace[]): Promise<readonly Ranking[]>
  /** Writes what is not written yet. */
  close(): Promise<void>
}

interface LearningMeans {
  readonly uses: Uses
  readonly limits: Pick<Limits, 'take'>
  readonly clock: Clock
  readonly log: Log
}

interface Shown extends Found {
  readonly at: number
}

const MINUTE = 60_000
const REMEMBERED = 10 * MINUTE
const HOUR = 60 * MINUTE
const MOST_SESSIONS = 200
const MOST_SEARCHES = 5
/** Of one principal in an hour: none can push out what others taught. */
const MOST_CREDITS = 60
const BATCH_MS = 200
/** In the time of a batch nobody makes so many uses that count. */
const MOST_WAITING = 200

interface WaitingUse extends NewUse {
  readonly by: string
}

export function openLearning({ uses, limits, clock, log }: LearningMeans): Learning {
  const sessions = new Map<string, readonly Shown[]>()
  let waiting: WaitingUse[] = []
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const people = openPeopleSearches({ uses, clock, log, rememberedMs: REMEMBERED })

  const flush = async (): Promise<void> => {
    await people.settled()
    if (timer !== null) clearTimeout(timer)
    timer = null
    const batch = waiting
    waiting = []
    if (batch.length === 0) return writing
    const write = async (): Promise<void> => {
      const counted: NewUse[] = []
      for (const { by, ...use } of batch) if (await mayCount(by, use, limits, clock)) counted.push(use)
      if (counted.length > 0) await uses.credit(counted, clock.now())
    }
    writing = writing.then(write).catch((error: unknown) => {
      log.warn('learning.unwritable', { uses: batch.length, reason: messageOf(error) })
    })
    return writing
  }
  const count = (who: Who, itemId: string, { items, words }: Found): void => {
    const row = items.get(itemId)
    if (row === undefined || waiting.length >= MOST_WAITING) return
    waiting.push({ row, item_id: itemId, words, by: who.principal })
    timer ??= setTimeout(() => void flush(), BATCH_MS).unref()
  }
  return {
    shown(who, query, items, where) {
      const words = learnableWords(query)
      if (words.length === 0 || items.length === 0) return
      const key = keyOf(who)
      const found = {
        at: clock.now(),
        words,
        items: new Map(items.map(({ item_id, row }) => [item_id, row])),
      }
      if (where !== undefined && who.kind === 'person') people.remember(who.principal, found, where)
      const before = sessions.get(key) ?? []
      // Put last: the first of a map is the one that was quiet longest.
      sessions.delete(key)
      sessions.set(key, [found, ...before.slice(0, MOST_SEARCHES - 1)])
      for (const oldest of sessions.keys()) {
        if (sessions.size <= MOST_SESSIONS) break
        sessions.delete(oldest)
      }
    },
    used(who, itemId, where) {
      const since = clock.now() - REMEMBERED
      const search = sessions.get(keyOf(who))?.find(({ at, items }) => at >= since && items.has(itemId))
      if (search !== undefined) return count(who, itemId, search)
      if (where !== undefined && who.kind === 'person')
        people.recall(who.principal, itemId, where, (found) => count(who, itemId, found))
    },
    async rankings(query, places) {
      const words = learnableWords(query)
      if (words.length === 0) return []
      // What was used a moment ago counts in the very next search.
      await flush()
      try {
        return useRankings(words, await uses.like(words, places), clock.now())
      } catch (error) {
        log.warn('learning.unreadable', { reason: messageOf(error) })
        return []
      }
    },
    close: () => flush(),
  }
}

/** For whoever wants nothing remembered. */
export const NO_LEARNING: Learning = {
  shown: () => undefined,
  used: () => undefined,
  rankings: () => Promise.resolve([]),
  close: () => Promise.resolve(),
}

function keyOf({ principal, session }: Who): string {
  return `${principal} ${session}`
}

/** The same use counts once an hour for a principal, in whichever session and process it is repeated. */
async function mayCount(
  principal: string,
  { item_id, words }: NewUse,
  limits: LearningMeans['limits'],
  clock: Clock,
): Promise<boolean> {
  const use = sha256([item_id, ...words].join(' '))
  const windows = [
    { key: `learning\n${principal}`, count: MOST_CREDITS, windowMs: HOUR },
    { key: `learning\n${principal}\n${use}`, count: 1, windowMs: HOUR },
  ]
  return (await limits.take(windows, clock.now())) === null
}
