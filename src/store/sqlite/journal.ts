import { isObject } from '../../shared/json.ts'
import type { Journal, JournalFilter } from '../journal.ts'
import type { Appender } from './append.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { toRecord } from './record-row.ts'
import { verifyJournal } from './verify-journal.ts'

export function createJournal(connection: Connection, appender: Appender): Journal {
  const selectUnfinished = connection.prepare(
    `SELECT * FROM journal d WHERE kind = 'decision' AND status = 'allow'
       AND seq > (SELECT max(seq) FROM journal) - ${NEWEST}
       AND NOT EXISTS (SELECT 1 FROM journal o WHERE o.call_id = d.call_id AND o.kind = 'outcome')`,
  )
  return {
    append: (records, sync, claim) => appender.append(records, sync, claim),
    appendLater: (make) => appender.appendLater(make),
    follow: (hear) => appender.follow(hear),
    drain: () => appender.drain(),
    async read(filter) {
      await appender.drain()
      const { sql, values } = select(filter)
      const rows = await connection.read(() => connection.prepare(sql).all(...values))
      return rows.map(toRecord)
    },
    async unfinished() {
      await appender.drain()
      const rows = await connection.read(() => selectUnfinished.all())
      return rows.map(toRecord)
    },
    async verify() {
      await appender.drain()
      return verifyJournal(connection)
    },
    async erase(callId) {
      await appender.drain()
      const erase = connection.prepare(
        'UPDATE journal SET body = NULL, salt = NULL WHERE call_id = ? AND body IS NOT NULL RETURNING seq',
      )
      // Nothing may stay readable: neither in pages that are let go of, nor in the log until it is moved.
      connection.exec('PRAGMA secure_delete = ON')
      try {
        const rows = await connection.write(() => erase.all(callId), 'full')
        await connection.read(() => connection.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
        return rows.length
      } finally {
        connection.exec('PRAGMA secure_delete = FAST')
      }
    },
    async noteHead(size) {
      const note = connection.prepare(
        `INSERT INTO meta VALUES ('journal_head', ?)
           ON CONFLICT (key) DO UPDATE SET value = excluded.value
           WHERE excluded.value > value`,
      )
      await connection.write(() => note.run(size))
    },
    async notedHead() {
      const noted = connection.prepare("SELECT value FROM meta WHERE key = 'journal_head'")
      const row = await connection.read(() => noted.get())
      return isObject(row) ? Number(row['value']) : null
    },
  }
}

/** Looked through at every start, so it must not grow with the journal. */
const NEWEST = 5000

/** One session, and all that came from it. */
const SESSIONS_BELOW = `session IN (
  WITH RECURSIVE below (id) AS (
    VALUES (?) UNION SELECT session FROM journal JOIN below ON parent_session = id
  ) SELECT id FROM below)`

function select(filter: JournalFilter): { sql: string; values: readonly SqlValue[] } {
  const { call_id, session, tool, status, principal, operation, since, until, after } = filter
  const asked: readonly (readonly [string, SqlValue | undefined])[] = [
    ['call_id = ?', call_id],
    [SESSIONS_BELOW, session],
    ['tool = ?', tool],
    ['status = ?', status],
    ['principal = ?', principal],
    ['operation = ?', operation],
    ['wall >= ?', since],
    ['wall < ?', until],
    ['seq > ?', after],
  ]
  const given = asked.filter(([, value]) => value !== undefined)
  const conditions = given.map(([condition]) => condition)
  if (filter.isDenied === true) conditions.push("status IN ('denied', 'rejected')")
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = after === undefined ? 'DESC' : 'ASC'
  // A negative limit would mean "all" to SQLite.
  const limit = Math.max(0, Math.trunc(filter.limit))
  const values = given.flatMap(([, value]) => (value === undefined ? [] : [value]))
  return { sql: `SELECT * FROM journal ${where} ORDER BY seq ${order} LIMIT ?`, values: [...values, limit] }
}
