import { z } from 'zod'
import type { Vectors } from '../vectors.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** Whoever goes back to a model within this time finds what it has made. */
const UNUSED_MS = 30 * 24 * 60 * 60 * 1000

/** Of all processes on the store one at a time makes the vectors of a model. */
export function createVectorTurns(
  connection: Connection,
): Pick<Vectors, 'claim' | 'release' | 'failure' | 'keep'> {
  const take = connection.prepare(
    `INSERT INTO embedding (model, holder, held_until, failures, retry_at, used_at) VALUES (?, ?, ?, 0, 0, ?)
     ON CONFLICT (model) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
       WHERE (holder = excluded.holder OR held_until <= excluded.used_at) AND retry_at <= excluded.used_at
     RETURNING failures`,
  )
  const fail = connection.prepare(
    `UPDATE embedding SET held_until = 0, failures = failures + 1, retry_at = ?, error = ?
     WHERE model = ? AND holder = ?`,
  )
  const succeed = connection.prepare(
    `UPDATE embedding SET held_until = 0, failures = 0, retry_at = 0, error = NULL
     WHERE model = ? AND holder = ?`,
  )
  const select = connection.prepare(
    'SELECT error, retry_at AS retryAt FROM embedding WHERE model = ? AND error IS NOT NULL',
  )
  const use = connection.prepare('UPDATE embedding SET used_at = ? WHERE model = ?')
  const dropVectors = connection.prepare(
    'DELETE FROM vectors WHERE model IN (SELECT model FROM embedding WHERE used_at < ?)',
  )
  const dropModels = connection.prepare('DELETE FROM embedding WHERE used_at < ?')
  return {
    keep: (model, now) =>
      connection.write(() => {
        use.run(now, model)
        dropVectors.run(now - UNUSED_MS)
        dropModels.run(now - UNUSED_MS)
      }),
    claim: (model, { holder, now, until }) =>
      connection.write(() => {
        const row = take.get(model, holder, until, now)
        return row === undefined ? null : readRow(ClaimRow, row)
      }),
    release: (model, holder, failure) =>
      connection.write(() => {
        if (failure === null) succeed.run(model, holder)
        else fail.run(failure.retryAt, failure.error, model, holder)
      }),
    async failure(model) {
      const row = await connection.read(() => select.get(model))
      return row === undefined ? null : readRow(FailureRow, row)
    },
  }
}

const ClaimRow = z.object({ failures: z.number() })
const FailureRow = z.object({ error: z.string(), retryAt: z.number() })
