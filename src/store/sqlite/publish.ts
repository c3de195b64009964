import { compare, prerelease } from 'semver'
import type { Clock } from '../../shared/clock.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { NewVersion, Registry, StoredVersion } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Generation } from './generation.ts'
import type { ToolRow } from './rows.ts'
import type { SearchRows } from './search-rows.ts'
import type { Versions } from './versions.ts'
import { prepareVersion } from './versions.ts'

export interface RegistryMeans {
  readonly connection: Connection
  readonly clock: Clock
  readonly generation: Generation
  readonly searchRows: SearchRows
  readonly versions: Versions
}

/** The two ways a caller changes the registry. */
export function createPublishing(means: RegistryMeans): Pick<Registry, 'publish' | 'remove'> {
  const { connection, clock, generation, searchRows, versions } = means
  return {
    async publish(given) {
      const version = await prepareVersion(given)
      return connection.write(() => {
        const tool = versions.tool(version.tool_id)
        const standing = tool === null ? null : standingVersion(tool, version, versions)
        if (standing !== null) return standing
        const removed = versions.removedHash(version.tool_id, version.version)
        if (removed !== null && removed !== version.content_hash) {
          throw versionExists(version, 'was published before', removed)
        }
        const now = new Date(clock.now()).toISOString()
        const toolPk = tool?.id ?? versions.insertTool(version, NOT_SHIPPED, now)
        versions.insertVersion(toolPk, version, now)
        const latest = tool?.latest_version ?? null
        if (latest === null || isAhead(version.version, latest)) {
          versions.markLatest(toolPk, version.version)
          versions.updateTool(toolPk, version, now)
          searchRows.putVersion(version, 'registry', now)
        }
        generation.grow()
        return written(version, versions)
      }, 'full')
    },
    remove: (toolId) =>
      connection.write(() => {
        const tool = versions.tool(toolId)
        if (tool === null) {
          throw new KiwiError('NOT_FOUND', `Cannot remove "${toolId}": the registry has no such item`)
        }
        if (tool.is_official) throw shipped('remove', toolId)
        versions.deleteTool(tool.id)
        searchRows.dropTool(toolId)
        generation.grow()
      }, 'full'),
  }
}

/** Forward only, and nobody gets a trial version who did not ask for it while there is a finished one. */
function isAhead(version: string, latest: string): boolean {
  return compare(version, latest) > 0 && (prerelease(version) === null || prerelease(latest) !== null)
}

const NOT_SHIPPED = { is_builtin: false, is_official: false }

/** This very version, when it was published before. Throws when the new one may not stand beside it. */
function standingVersion(tool: ToolRow, version: NewVersion, versions: Versions): StoredVersion | null {
  const { tool_id, tool_type } = version
  if (tool.is_official) throw shipped('publish', tool_id)
  if (tool.tool_type !== tool_type) {
    throw new KiwiError('CONFLICT', `Cannot publish "${tool_id}": it stands there as a ${tool.tool_type}`, {
      hint: `Publish this ${tool_type} under another id`,
      details: { tool_id, tool_type, standing_type: tool.tool_type },
    })
  }
  const stored = versions.stored(tool_id, version.version)
  if (stored === null || stored.content_hash === version.content_hash) return stored
  throw versionExists(version, 'stands', stored.content_hash)
}

function versionExists(
  { tool_id, version, content_hash }: NewVersion,
  standing: string,
  published_hash: string,
): KiwiError {
  return new KiwiError(
    'VERSION_EXISTS',
    `Cannot publish "${tool_id}": version ${version} ${standing} with other content`,
    { details: { tool_id, version, content_hash, published_hash } },
  )
}

function written(version: NewVersion, versions: Versions): StoredVersion {
  const stored = versions.stored(version.tool_id, version.version)
  if (stored !== null) return stored
  throw new KiwiError('INTERNAL', `Cannot publish "${version.tool_id}": it was written and is not there`)
}

function shipped(action: string, toolId: string): KiwiError {
  return new KiwiError('BUILTIN_PROTECTED', `Cannot ${action} "${toolId}": it is shipped with Kiwi`, {
    details: { tool_id: toolId },
  })
}
