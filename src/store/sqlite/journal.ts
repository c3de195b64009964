import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Journal, JournalFilter, JournalRecord } from '../store.ts'
import type { Appender } from './append.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { GENESIS, hashBody, hashOf } from './links.ts'
import { jsonObject, readRow } from './rows.ts'

export function createJournal(connection: Connection, appender: Appender): Journal {
  const selectPage = connection.prepare(`SELECT * FROM journal WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`)
  const selectUnfinished = connection.prepare(
    `SELECT * FROM journal d WHERE kind = 'decision' AND status = 'allow'
       AND seq > (SELECT max(seq) FROM journal) - ${NEWEST}
       AND NOT EXISTS (SELECT 1 FROM journal o WHERE o.call_id = d.call_id AND o.kind = 'outcome')`,
  )
  return {
    append: (records, sync, claim) => appender.append(records, sync, claim),
    async read(filter) {
      const { sql, values } = select(filter)
      const rows = await connection.read(() => connection.prepare(sql).all(...values))
      return rows.map((row) => toRecord(readRow(RecordRow, row)))
    },
    async unfinished() {
      const rows = await connection.read(() => selectUnfinished.all())
      return rows.map((row) => toRecord(readRow(RecordRow, row)))
    },
    async verify() {
      let records = 0
      let prev = GENESIS
      for (;;) {
        const from = records
        const page = await connection.read(() => selectPage.all(from))
        for (const row of page) {
          const record = readRow(RecordRow, row)
          if (!isNext(record, records + 1, prev)) return { records, brokenAt: records + 1 }
          records += 1
          prev = record.hash
        }
        if (page.length < PAGE) return { records, brokenAt: null }
        // A long chain must not keep everybody else waiting.
        await nextTurn()
      }
    },
  }
}

const PAGE = 1000
/** Looked through at every start, so it must not grow with the journal. */
const NEWEST = 5000

const RecordRow = z.object({
  seq: z.number(),
  kind: z.enum(['decision', 'outcome']),
  call_id: z.string(),
  session: z.string(),
  principal: z.string(),
  operation: z.string(),
  tool: z.string(),
  status: z.string(),
  wall: z.number(),
  salt: z.string().nullable(),
  body: z.string().nullable(),
  body_hash: z.string(),
  prev_hash: z.string(),
  hash: z.string(),
})
type RecordRow = z.infer<typeof RecordRow>

/** Whether a record is the one that follows: in its place, tied to the one before, as it was written. */
function isNext(record: RecordRow, seq: number, prev: string): boolean {
  const isBodyTrue = record.body === null || hashBody(record.salt ?? '', record.body) === record.body_hash
  return record.seq === seq && record.prev_hash === prev && isBodyTrue && hashOf(record) === record.hash
}

function toRecord(row: RecordRow): JournalRecord {
  const { seq, kind, call_id, session, principal, operation, tool, status, wall, hash } = row
  const body = row.body === null ? {} : readRow(jsonObject, row.body)
  return {
    seq,
    kind,
    call_id,
    session,
    principal,
    operation,
    tool,
    status,
    wall,
    body,
    prev: row.prev_hash,
    hash,
  }
}

function select(filter: JournalFilter): { sql: string; values: readonly SqlValue[] } {
  const { call_id, session, tool, status, after } = filter
  const conditions: string[] = []
  const values: SqlValue[] = []
  for (const [column, value] of Object.entries({ call_id, session, tool, status })) {
    if (value === undefined) continue
    conditions.push(`${column} = ?`)
    values.push(value)
  }
  if (after !== undefined) {
    conditions.push('seq > ?')
    values.push(after)
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = after === undefined ? 'DESC' : 'ASC'
  // A negative limit would mean "all" to SQLite.
  values.push(Math.max(0, Math.trunc(filter.limit)))
  return { sql: `SELECT * FROM journal ${where} ORDER BY seq ${order} LIMIT ?`, values }
}
