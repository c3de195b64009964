import { gt } from 'semver'
import { z } from 'zod'
import { groupOf } from '../../shared/groups.ts'
import type { Log } from '../../shared/log.ts'
import type { Registry } from '../store.ts'
import type { RegistryMeans } from './publish.ts'
import { readRow } from './rows.ts'
import type { PreparedVersion } from './versions.ts'
import { prepareVersion } from './versions.ts'

interface SeedMeans extends RegistryMeans {
  readonly log: Log | null
}

/** Makes the shipped rows equal to what this Kiwi ships. */
export function createSeeding(means: SeedMeans): Pick<Registry, 'seed' | 'seeded'> {
  const { connection, clock, generation } = means
  const digestRow = connection.prepare("SELECT value FROM meta WHERE key = 'seed_digest'")
  const setDigest = connection.prepare(
    "INSERT INTO meta VALUES ('seed_digest', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  )
  const seeded = (): string | null => {
    const row = digestRow.get()
    return row === undefined ? null : readRow(DigestRow, row).value
  }
  return {
    seeded: () => connection.read(seeded),
    async seed(items, digest) {
      if ((await connection.read(seeded)) === digest) return { written: 0 }
      const prepared = await Promise.all(items.map((item) => prepareVersion(item)))
      return connection.write(() => {
        if (seeded() === digest) return { written: 0 }
        const now = new Date(clock.now()).toISOString()
        connection.exec('INSERT INTO seeding VALUES (1)')
        removeOthers(means, prepared)
        let written = 0
        for (const item of prepared) if (seedOne(means, item, now)) written += 1
        setDigest.run(digest)
        connection.exec('DELETE FROM seeding')
        generation.grow()
        return { written }
      })
    },
  }
}

const DigestRow = z.object({ value: z.string() })

function removeOthers(
  { connection, versions, searchRows }: SeedMeans,
  items: readonly PreparedVersion[],
): void {
  const shipped = new Set(items.map(({ tool_id }) => tool_id))
  const rows = connection.prepare('SELECT id, tool_id FROM tools WHERE is_official = 1').all()
  for (const { id, tool_id } of rows.map((row) => readRow(IdRow, row))) {
    if (shipped.has(tool_id)) continue
    versions.deleteTool(id)
    searchRows.dropTool(tool_id)
  }
}

const IdRow = z.object({ id: z.string(), tool_id: z.string() })

/** Returns whether the version was written; what is only shown of it is refreshed in any case. */
function seedOne(means: SeedMeans, item: PreparedVersion, now: string): boolean {
  const { versions, searchRows } = means
  const isCore = item.tool_type === 'primitive' || item.tool_type === 'runtime'
  const isBuiltin = isCore || groupOf(item.tool_id) !== undefined
  const toolPk =
    standingTool(means, item) ?? versions.insertTool(item, { is_builtin: isBuiltin, is_official: true }, now)
  const stored = versions.stored(item.tool_id, item.version)
  const isSame =
    stored?.content_hash === item.content_hash &&
    stored.manifest_yaml === item.manifest_yaml &&
    stored.executor_id === item.executor_id
  if (!isSame) {
    // The one exception to "a version never changes": a shipped one may, under the same number.
    versions.deleteVersion(toolPk, item.version)
    versions.insertVersion(toolPk, item, now)
  }
  // After a step back to an older Kiwi nothing newer may answer to a range.
  for (const version of versionsOf(means, toolPk)) {
    if (gt(version, item.version)) versions.deleteVersion(toolPk, version)
  }
  versions.markLatest(toolPk, item.version)
  versions.updateTool(toolPk, item, now)
  searchRows.dropTool(item.tool_id)
  searchRows.putVersion(item, 'builtin', now)
  return !isSame
}

/** The shipped row of this id. What somebody else published under it is kept, in a namespace of its own. */
function standingTool({ connection, versions, log }: SeedMeans, item: PreparedVersion): string | null {
  const tool = versions.tool(item.tool_id)
  if (tool === null) return null
  if (!tool.is_official) {
    connection.prepare("UPDATE tools SET namespace = 'displaced.' || id WHERE id = ?").run(tool.id)
    log?.warn('store.item_displaced', { tool_id: item.tool_id, namespace: `displaced.${tool.id}` })
    return null
  }
  if (tool.tool_type === item.tool_type) return tool.id
  versions.deleteTool(tool.id)
  return null
}

function versionsOf({ connection }: SeedMeans, toolPk: string): readonly string[] {
  const rows = connection.prepare('SELECT version FROM tool_versions WHERE tool_pk = ?').all(toolPk)
  return rows.map((row) => readRow(VersionOnly, row).version)
}

const VersionOnly = z.object({ version: z.string() })
