import type { JournalRecord } from '../store/journal.ts'

/** Hears of records that stand. It never throws, and nobody waits for it but the end. */
export interface Follower {
  add(records: readonly JournalRecord[]): void
  close(): Promise<void>
}
