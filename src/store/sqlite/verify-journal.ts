import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JournalFault, Verified } from '../journal.ts'
import type { Connection } from './connection.ts'
import { isDamaged } from './failure.ts'
import { GENESIS, hashBody, hashOf } from './links.ts'
import { RecordRow } from './record-row.ts'

/** Walks the whole chain, and looks for what the walk cannot see: an index that tells another tale than its table. */
export async function verifyJournal(connection: Connection): Promise<Verified> {
  const selectPage = connection.prepare('SELECT * FROM journal WHERE seq > ? ORDER BY seq LIMIT ?')
  let size = PAGE
  let records = 0
  let prev = GENESIS
  // Also of what was put in before the first.
  let from = Number.MIN_SAFE_INTEGER
  let wall = 0
  const clockBack: { seq: number; ms: number }[] = []
  const erased: { seq: number; call_id: string }[] = []
  for (;;) {
    const [after, most] = [from, size]
    const page = await unlessDamaged(() => connection.read(() => selectPage.all(after, most)))
    if (page === null) {
      if (size === 1) return { records, brokenAt: records + 1, fault: 'changed', clockBack, erased }
      // One of them cannot be read: which one is found by reading them one by one.
      size = 1
      continue
    }
    for (const row of page) {
      const { data: record } = RecordRow.safeParse(row)
      // Nothing of ours wrote a row of another shape.
      if (record === undefined) return { records, brokenAt: records + 1, fault: 'changed', clockBack, erased }
      const fault = faultOf(record, records + 1, prev)
      if (fault !== null)
        return { records, brokenAt: Math.min(record.seq, records + 1), fault, clockBack, erased }
      records += 1
      from = record.seq
      prev = record.hash
      if (record.body === null) erased.push({ seq: record.seq, call_id: record.call_id })
      if (wall - record.wall > WAIT_MS && clockBack.length < MOST_TOLD)
        clockBack.push({ seq: record.seq, ms: wall - record.wall })
      wall = record.wall
    }
    if (page.length < size) break
    // A long chain must not keep everybody else waiting.
    await nextTurn()
  }
  const misplaced = await connection.read(() => misplacedIn(connection))
  return misplaced === null
    ? { records, brokenAt: null, fault: null, clockBack, erased }
    : { records, brokenAt: misplaced, fault: 'changed', clockBack, erased }
}

/** Null where what is to be read is no longer as the database wrote it. */
async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (isDamaged(error)) return null
    throw error
  }
}

const PAGE = 1000
/** Whoever waits for the store has the time of before: that is no clock that went back. */
const WAIT_MS = 1000
const MOST_TOLD = 100

/** What speaks against a record as the next one: it must stand in its place, follow the one before, and be as written. */
function faultOf(record: RecordRow, seq: number, prev: string): JournalFault | null {
  if (record.seq !== seq) return record.seq < seq ? 'moved' : 'missing'
  const isBodyTrue = record.body === null || hashBody(record.salt ?? '', record.body) === record.body_hash
  const isTrue = isBodyTrue && hashOf(record.seq, prev, record.body_hash, record) === record.hash
  if (isTrue) return record.prev_hash === prev ? null : 'changed'
  return record.prev_hash === prev ? 'changed' : 'moved'
}

/** The record that an index has otherwise; of a file that is damaged in another way the driver itself tells. */
function misplacedIn(connection: Connection): number | null {
  const rows = connection.prepare('PRAGMA integrity_check(journal)').all()
  const numbers = rows.flatMap((row) => /\brow (\d+)\b/.exec(JSON.stringify(row))?.[1] ?? [])
  return numbers.length === 0 ? null : Math.min(...numbers.map(Number))
}
