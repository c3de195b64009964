import type { Journal, JournalRecord } from '../store/store.ts'

/** Hears of records that stand. It never throws, and nobody waits for it but the end. */
export interface Follower {
  add(records: readonly JournalRecord[]): void
  close(): Promise<void>
}

/** The journal, with others that hear of what this process wrote. */
export function followedJournal(journal: Journal, followers: readonly Follower[]): Journal {
  return {
    ...journal,
    async append(records, sync, claim) {
      const placed = await journal.append(records, sync, claim)
      for (const follower of followers) follower.add(placed)
      return placed
    },
  }
}
