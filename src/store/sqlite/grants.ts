import { z } from 'zod'
import type { Grants } from '../grants.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

const GrantRow = z.object({
  principal: z.string(),
  tool: z.string(),
  digest: z.string(),
  secret: z.string(),
  sink: z.string().transform((sink) => (sink === '' ? null : sink)),
  granted_at: z.string(),
  granted_by: z.string(),
})

export function createGrants(connection: Connection): Grants {
  const selectAll = connection.prepare('SELECT * FROM grants ORDER BY tool, secret, granted_at, sink')
  const selectTool = connection.prepare(
    'SELECT * FROM grants WHERE tool = ? ORDER BY secret, granted_at, sink',
  )
  const replaced = connection.prepare(
    'DELETE FROM grants WHERE tool = ? AND secret = ? AND digest = ? AND principal = ?',
  )
  const insert = connection.prepare('INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)')
  const remove = connection.prepare(
    "DELETE FROM grants WHERE tool = ?1 AND (?2 = '' OR secret = ?2) RETURNING tool",
  )
  return {
    async read(tool) {
      const rows = await connection.read(() => (tool === undefined ? selectAll.all() : selectTool.all(tool)))
      return rows.map((row) => readRow(GrantRow, row))
    },
    give: (grants) =>
      connection.write(() => {
        for (const { tool, secret, digest, principal } of grants)
          replaced.run(tool, secret, digest, principal)
        for (const { principal, tool, digest, secret, sink, granted_at, granted_by } of grants)
          insert.run(principal, tool, digest, secret, sink ?? '', granted_at, granted_by)
      }, 'full'),
    revoke: (tool, secret) => connection.write(() => remove.all(tool, secret ?? '').length, 'full'),
  }
}
