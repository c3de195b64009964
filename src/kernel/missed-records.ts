import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Log } from '../shared/log.ts'
import type { Journal, NewRecord } from '../store/journal.ts'

/** What could not be written when it happened: it is, once the journal takes records again and this process still lives. */
export interface MissedRecords {
  /** Of one call. */
  keep(records: readonly NewRecord[]): void
  /** What is still here is tried once more. */
  close(): Promise<void>
}

/** Calls that are remembered; a full disk must not become a full memory. */
const MOST = 1000
/** The journal has just taken a record: what it refuses now it refuses for what it is. */
const MOST_TRIES = 3

interface Missed {
  readonly records: readonly NewRecord[]
  readonly tries: number
}

interface MissedMeans {
  readonly journal: Pick<Journal, 'append' | 'follow'>
  readonly clock: Clock
  readonly log: Log
}

export function openMissedRecords({ journal, clock, log }: MissedMeans): MissedRecords {
  let missed: readonly Missed[] = []
  let writing: Promise<void> | null = null
  const write = async (): Promise<void> => {
    const tried = missed
    missed = []
    for (const { records, tries } of tried) {
      try {
        await journal.append(
          records.map((record) => late(record, clock)),
          'normal',
        )
      } catch (error) {
        const isLast = tries + 1 >= MOST_TRIES
        if (isLast) log.error('journal.lost', { call_id: records[0]?.call_id, reason: messageOf(error) })
        else missed = [...missed, { records, tries: tries + 1 }]
      }
    }
  }
  const begin = (): void => {
    if (missed.length === 0 || writing !== null) return
    writing = write().finally(() => {
      writing = null
    })
  }
  journal.follow(begin)
  return {
    keep(records) {
      if (records.length === 0) return
      missed = [...missed.slice(1 - MOST), { records, tries: 0 }]
    },
    async close() {
      begin()
      await writing
    },
  }
}

/** A record stands where it was written; when it came to be is said beside it. */
function late({ wall, body, ...record }: NewRecord, clock: Clock): NewRecord {
  const made: JsonObject = { ...body, happened_at: new Date(wall).toISOString() }
  return { ...record, wall: clock.now(), mono: clock.monotonic(), body: made }
}
