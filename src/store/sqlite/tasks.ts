import { z } from 'zod'
import type { Clock } from '../../shared/clock.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { TaskRow, TaskRows } from '../tasks.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

const object = z
  .string()
  .transform((text): JsonObject => z.record(z.string(), z.json()).parse(JSON.parse(text)))

const Row = z.object({
  id: z.string(),
  principal: z.string(),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  created_at: z.string(),
  updated_at: z.string(),
  ttl_ms: z.number(),
  owner: z.string(),
  input_requests: object,
  input_responses: object,
  result: object.nullable(),
  error: object.nullable(),
})

export function createTasks(connection: Connection, clock: Clock): TaskRows {
  const put = connection.prepare('INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const select = connection.prepare('SELECT * FROM tasks WHERE id = ? AND expires_at > ?')
  const expire = connection.prepare('DELETE FROM tasks WHERE expires_at <= ?')
  const read = (id: string): TaskRow | null => {
    const row = select.get(id, clock.now())
    return row === undefined ? null : readRow(Row, row)
  }
  const write = (row: TaskRow): void => {
    const { id, principal, status, created_at, updated_at, ttl_ms, owner, result, error } = row
    const asked = [JSON.stringify(row.input_requests), JSON.stringify(row.input_responses)] as const
    const end = [result, error].map((value) => (value === null ? null : JSON.stringify(value)))
    const until = Date.parse(created_at) + ttl_ms
    put.run(id, principal, status, created_at, updated_at, ttl_ms, owner, ...asked, ...end, until)
  }
  return {
    create: (row) =>
      connection.write(() => {
        expire.run(clock.now())
        write(row)
      }),
    find: (id) => connection.read(() => read(id)),
    change: (id, edit) =>
      connection.write(() => {
        const row = read(id)
        const edited = row === null ? null : edit(row)
        if (edited !== null) write(edited)
        return edited ?? row
      }),
  }
}
