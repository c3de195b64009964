import { z } from 'zod'
import type { JsonValue } from '../../shared/json.ts'
import type { Runs } from '../runs.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** A column of JSON that holds a list. */
const list = z.string().transform((text): readonly JsonValue[] => z.array(z.json()).parse(JSON.parse(text)))

const RunRow = z.object({
  id: z.string(),
  kind: z.enum(['session', 'run', 'thread']),
  parent: z.string().nullable(),
  root: z.string(),
  principal: z.string(),
  directive: z.string().nullable(),
  own: list,
  ceiling: list,
  opened_at: z.string(),
  closed_at: z.string().nullable(),
  session: z.string().nullable(),
})

export function createRuns(connection: Connection): Runs {
  const insert = connection.prepare('INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const select = connection.prepare('SELECT * FROM runs WHERE id = ?')
  const close = connection.prepare(`
WITH RECURSIVE below (id) AS (
  VALUES (?1) UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id
)
UPDATE runs SET closed_at = ?2 WHERE id IN (SELECT id FROM below) AND closed_at IS NULL`)
  return {
    open: ({ id, kind, parent, root, principal, directive, own, ceiling, opened_at, closed_at, session }) =>
      connection.write(() => {
        const layers = [JSON.stringify(own), JSON.stringify(ceiling)] as const
        insert.run(id, kind, parent, root, principal, directive, ...layers, opened_at, closed_at, session)
      }, 'full'),
    async find(id) {
      const row = await connection.read(() => select.get(id))
      return row === undefined ? null : readRow(RunRow, row)
    },
    close: (id, closedAt) =>
      connection.write(() => {
        close.run(id, closedAt)
      }, 'full'),
  }
}
