import { compareBuild, maxSatisfying, validRange } from 'semver'
import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Log } from '../../shared/log.ts'
import type { ChainLink, Registry, StoredVersion, VersionSummary } from '../store.ts'
import type { Files } from './files.ts'
import type { RegistryMeans } from './publish.ts'
import { createPublishing } from './publish.ts'
import { readRow, SummaryRow, VERSION_COLUMNS, VersionRow } from './rows.ts'
import { createSeeding } from './seed.ts'

interface Means extends RegistryMeans {
  readonly files: Files
  readonly log: Log | null
}

export function createRegistry(means: Means): Registry {
  const { connection, versions, files } = means
  const selectNodes = connection.prepare(NODES)
  const selectLatest = connection.prepare(
    `SELECT ${VERSION_COLUMNS} FROM tools t JOIN tool_versions v ON v.tool_pk = t.id AND v.is_latest = 1
     WHERE t.namespace = 'public' AND t.tool_id = ?`,
  )
  const selectSummaries = connection.prepare(
    `SELECT v.version, v.content_hash, v.changelog, v.is_latest, v.created_at
     FROM tools t JOIN tool_versions v ON v.tool_pk = t.id
     WHERE t.namespace = 'public' AND t.tool_id = ?`,
  )
  const selectReserved = connection.prepare('SELECT tool_id FROM tools WHERE is_builtin = 1')

  const nodes = async (toolIds: readonly string[]): Promise<Map<string, StoredVersion>> => {
    const rows = await connection.read(() => selectNodes.all(JSON.stringify(toolIds)))
    return new Map(rows.map((row) => readRow(VersionRow, row)).map((node) => [node.tool_id, node]))
  }
  const latest = async (toolId: string): Promise<StoredVersion | null> => {
    const row = await connection.read(() => selectLatest.get(toolId))
    return row === undefined ? null : readRow(VersionRow, row)
  }
  const summaries = async (toolId: string): Promise<VersionSummary[]> => {
    const rows = await connection.read(() => selectSummaries.all(toolId))
    return rows.map((row) => readRow(SummaryRow, row))
  }
  return {
    ...createPublishing(means),
    ...createSeeding(means),
    async reserved() {
      const rows = await connection.read(() => selectReserved.all())
      return new Set(rows.map((row) => readRow(IdRow, row).tool_id))
    },
    nodes,
    chain: async (toolId) => walk(toolId, await nodes([toolId])),
    async version(toolId, range) {
      if (range === null) return latest(toolId)
      const exact = await connection.read(() => versions.stored(toolId, range))
      if (exact !== null) return exact
      if (validRange(range) === null) throw invalidRange(toolId, range)
      const all = (await summaries(toolId)).map(({ version }) => version)
      const best = maxSatisfying(all, range)
      return best === null ? null : connection.read(() => versions.stored(toolId, best))
    },
    async versions(toolId) {
      return (await summaries(toolId)).toSorted((a, b) => compareBuild(b.version, a.version))
    },
    publishedHash: (toolId, version) =>
      connection.read(
        () => versions.stored(toolId, version)?.content_hash ?? versions.removedHash(toolId, version),
      ),
    files: (toolId, version) => connection.read(() => files.read(toolId, version)),
  }
}

const IdRow = z.object({ tool_id: z.string() })

/**
 * UNION drops what was met before, so the query ends even where executors go in a circle. CROSS JOIN keeps the
 * order: the planner would rather read all tools.
 */
const NODES = `
WITH RECURSIVE need (tool_id) AS (
  SELECT value FROM json_each(?)
  UNION
  SELECT t.executor_id FROM need n JOIN tools t ON t.namespace = 'public' AND t.tool_id = n.tool_id
  WHERE t.executor_id IS NOT NULL
)
SELECT ${VERSION_COLUMNS}
FROM need n
CROSS JOIN tools t ON t.namespace = 'public' AND t.tool_id = n.tool_id
CROSS JOIN tool_versions v ON v.tool_pk = t.id AND v.is_latest = 1`

function walk(toolId: string, nodes: ReadonlyMap<string, StoredVersion>): readonly ChainLink[] {
  const links: ChainLink[] = []
  const seen = new Set<string>()
  let node = nodes.get(toolId)
  while (node !== undefined && !seen.has(node.tool_id) && links.length < LIMITS.chainLinks) {
    const { tool_id, tool_type, executor_id } = node
    seen.add(tool_id)
    links.push({ depth: links.length, tool_id, tool_type, executor_id })
    node = executor_id === null ? undefined : nodes.get(executor_id)
  }
  return links
}

function invalidRange(toolId: string, range: string): KiwiError {
  const shown = JSON.stringify(range.slice(0, 160))
  return new KiwiError('INVALID_PARAMETERS', `Cannot find "${toolId}": ${shown} is no version or range`, {
    hint: 'Give a version such as 1.2.0 or a range such as ^1.2',
    details: { missing: [], invalid: [{ name: 'version', reason: 'not a semantic version or range' }] },
  })
}
