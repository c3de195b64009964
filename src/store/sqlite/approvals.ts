import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Approval, ApprovalFilter, Approvals } from '../approvals.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { jsonObject, readRow } from './rows.ts'

export function createApprovals(connection: Connection): Approvals {
  const selectOpen = connection.prepare("SELECT * FROM approvals WHERE call_hash = ? AND state = 'pending'")
  const countOpen = connection.prepare(
    "SELECT count(*) AS count FROM approvals WHERE session = ? AND state = 'pending' AND expires_at > ?",
  )
  const insert = connection.prepare(`INSERT INTO approvals VALUES (${COLUMNS.map(() => '?').join(', ')})`)
  const update = connection.prepare(
    `UPDATE approvals SET state = ?, scope = ?, decided_by = ?, channel = ?, reason = ?, replaced_by = ?,
       decided_at = ?, expires_at = ?, mac = ?
     WHERE id = ? AND mac = ? AND state = ?`,
  )
  const expire = connection.prepare(
    "UPDATE approvals SET state = 'expired' WHERE id = ? AND state IN ('pending', 'approved', 'rejected')",
  )
  const prune = connection.prepare(
    `DELETE FROM approvals WHERE expires_at < ? AND id NOT IN
       (SELECT id FROM approvals ORDER BY created_at DESC LIMIT ${LIMITS.keptApprovals})`,
  )
  return {
    ask: (question) =>
      connection.write(() => {
        const open = selectOpen.get(question.call_hash)
        if (open !== undefined) return readRow(ApprovalRow, open)
        const { count } = readRow(CountRow, countOpen.get(question.session, question.created_at))
        if (count >= LIMITS.openApprovals) throw overloaded(count)
        prune.run(question.created_at)
        insert.run(...columnsOf(question))
        return question
      }, 'full'),
    decide: (decided, seen, instead) =>
      connection.write(() => {
        const { state, scope, decided_by, channel, reason, replaced_by, decided_at, expires_at, mac } =
          decided
        const said = [state, scope, decided_by, channel, reason, replaced_by, decided_at, expires_at, mac]
        if (update.run(...said, seen.id, seen.mac, seen.state) !== 1) {
          throw new KiwiError('CONFLICT', `Cannot decide "${seen.id}": somebody has answered it meanwhile`, {
            hint: `Look at it again: kiwi approvals ${seen.id}`,
          })
        }
        if (instead !== undefined) insert.run(...columnsOf(instead))
      }, 'full'),
    expire: (id) => connection.write(() => expire.run(id) === 1),
    async list(filter) {
      const { sql, values } = select(filter)
      const rows = await connection.read(() => connection.prepare(sql).all(...values))
      return rows.map((row) => readRow(ApprovalRow, row))
    },
  }
}

const text = z.string().nullable()
const ApprovalRow = z.object({
  id: z.string(),
  call_hash: z.string(),
  call_id: z.string(),
  session: z.string(),
  run: text,
  principal: z.string(),
  project: text,
  tool: z.string(),
  digest: text,
  layer: z.string(),
  rule: text,
  summary: jsonObject,
  state: z.enum(['pending', 'approved', 'rejected', 'expired', 'used']),
  scope: z.enum(['once', 'run']),
  decided_by: text,
  channel: text,
  reason: text,
  replaced_by: text,
  created_at: z.number(),
  expires_at: z.number(),
  decided_at: z.number().nullable(),
  mac: z.string(),
  used_at: z.number().nullable(),
})
const CountRow = z.object({ count: z.number() })
const COLUMNS = ApprovalRow.keyof().options

function columnsOf(approval: Approval): readonly SqlValue[] {
  return COLUMNS.map((name) => {
    const value = approval[name]
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  })
}

function select({ limit, states, session, call_hash, prefix }: ApprovalFilter): {
  readonly sql: string
  readonly values: readonly SqlValue[]
} {
  const wanted: { readonly sql: string; readonly values: readonly SqlValue[] }[] = []
  if (states !== undefined)
    wanted.push({ sql: `state IN (${states.map(() => '?').join(', ')})`, values: states })
  if (session !== undefined) wanted.push({ sql: 'session = ?', values: [session] })
  if (call_hash !== undefined) wanted.push({ sql: 'call_hash = ?', values: [call_hash] })
  if (prefix !== undefined) wanted.push({ sql: 'substr(id, 1, ?) = ?', values: [prefix.length, prefix] })
  const where = wanted.length === 0 ? '' : `WHERE ${wanted.map(({ sql }) => sql).join(' AND ')}`
  return {
    sql: `SELECT * FROM approvals ${where} ORDER BY created_at DESC, id LIMIT ?`,
    values: [...wanted.flatMap(({ values }) => values), Math.max(0, Math.trunc(limit))],
  }
}

function overloaded(open: number): KiwiError {
  return new KiwiError('OVERLOADED', `Cannot ask a person: ${open} questions of this session wait already`, {
    hint: 'Wait until the person has answered: kiwi approvals shows them what waits',
  })
}
