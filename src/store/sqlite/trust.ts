import { z } from 'zod'
import type { Trust } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Generation } from './generation.ts'
import { jsonObject, readRow } from './rows.ts'

const ProjectRow = z.object({ path: z.string(), trusted_at: z.string(), trusted_by: z.string() })
const LaunchRow = z.object({ identity: z.string(), parts: jsonObject })
const SignatureRow = z.object({
  place: z.string(),
  content_hash: z.string(),
  time: z.string(),
  signature: z.string(),
  fingerprint: z.string(),
})

export function createTrust(connection: Connection, generation: Generation): Trust {
  const selectProjects = connection.prepare('SELECT * FROM trusted_projects ORDER BY path')
  const insertProject = connection.prepare(
    'INSERT INTO trusted_projects VALUES (?, ?, ?) ON CONFLICT (path) DO NOTHING',
  )
  const deleteProject = connection.prepare('DELETE FROM trusted_projects WHERE path = ?')
  const selectLaunch = connection.prepare(
    'SELECT identity, parts FROM launches WHERE project = ? AND server = ?',
  )
  const putLaunch = connection.prepare('INSERT OR REPLACE INTO launches VALUES (?, ?, ?, ?, ?, ?)')
  const dropLaunches = connection.prepare('DELETE FROM launches WHERE project = ?')
  const selectSignature = connection.prepare('SELECT * FROM signatures WHERE place = ?')
  const putSignature = connection.prepare('INSERT OR REPLACE INTO signatures VALUES (?, ?, ?, ?, ?)')
  return {
    async projects() {
      const rows = await connection.read(() => selectProjects.all())
      return rows.map((row) => readRow(ProjectRow, row))
    },
    trustProject: ({ path, trusted_at, trusted_by }) =>
      connection.write(() => {
        insertProject.run(path, trusted_at, trusted_by)
        generation.grow()
      }, 'full'),
    revokeProject: (path) =>
      connection.write(() => {
        deleteProject.run(path)
        dropLaunches.run(path)
        generation.grow()
      }, 'full'),
    async launch(project, server) {
      const row = await connection.read(() => selectLaunch.get(project, server))
      return row === undefined ? null : readRow(LaunchRow, row)
    },
    trustLaunch: ({ project, server, identity, parts, kept_at, kept_by }) =>
      connection.write(() => {
        putLaunch.run(project, server, identity, JSON.stringify(parts), kept_at, kept_by)
        generation.grow()
      }, 'full'),
    async signature(place) {
      const row = await connection.read(() => selectSignature.get(place))
      return row === undefined ? null : readRow(SignatureRow, row)
    },
    sign: ({ place, content_hash, time, signature, fingerprint }) =>
      connection.write(() => {
        putSignature.run(place, content_hash, time, signature, fingerprint)
        generation.grow()
      }, 'full'),
  }
}
