import { randomUUID } from 'node:crypto'
import { valid } from 'semver'
import { KiwiError } from '../../shared/errors.ts'
import { TYPE_RULES } from '../../shared/tool-type.ts'
import type { NewVersion, StoredVersion } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Statement } from './driver.ts'
import type { EncodedFile, Files } from './files.ts'
import { encodeFiles } from './files.ts'
import { readRow, RemovedRow, ToolRow, VERSION_COLUMNS, VersionRow } from './rows.ts'

/** The rows of a tool and its versions, written and read inside one transaction. */
export interface Versions {
  tool(toolId: string): ToolRow | null
  stored(toolId: string, version: string): StoredVersion | null
  /** The content hash of a version that was removed. */
  removedHash(toolId: string, version: string): string | null
  /** A tool without versions yet. */
  insertTool(version: NewVersion, marks: Marks, now: string): string
  /** What the tool shows of its latest version. */
  updateTool(toolPk: string, version: NewVersion, now: string): void
  insertVersion(toolPk: string, version: PreparedVersion, now: string): void
  /** Makes this the one latest version. */
  markLatest(toolPk: string, version: string): void
  deleteVersion(toolPk: string, version: string): void
  deleteTool(toolPk: string): void
}

interface Marks {
  readonly is_builtin: boolean
  readonly is_official: boolean
}

/** A version that was checked, with its files hashed: all the work that needs no lock. */
export interface PreparedVersion extends NewVersion {
  readonly encodedFiles: readonly EncodedFile[]
}

export function createVersions(connection: Connection, files: Files): Versions {
  const prepare = (sql: string): Statement => connection.prepare(sql)
  const selectTool = prepare(
    `SELECT id, tool_id, tool_type, is_official, latest_version FROM tools
     WHERE namespace = 'public' AND tool_id = ?`,
  )
  const selectVersion = prepare(
    `SELECT ${VERSION_COLUMNS} FROM tools t JOIN tool_versions v ON v.tool_pk = t.id
     WHERE t.namespace = 'public' AND t.tool_id = ? AND v.version = ?`,
  )
  const selectRemoved = prepare('SELECT content_hash FROM removed_versions WHERE tool_id = ? AND version = ?')
  const insertTool = prepare(
    `INSERT INTO tools (id, tool_id, name, description, tool_type, executor_id, category, subcategory, tags,
       is_builtin, is_official, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const updateTool = prepare(
    `UPDATE tools SET name = ?, description = ?, executor_id = ?, category = ?, subcategory = ?, tags = ?,
       updated_at = ?
     WHERE id = ?`,
  )
  const insertVersion = prepare(
    `INSERT INTO tool_versions (id, tool_pk, version, executor_id, manifest, manifest_yaml, content_hash, changelog,
       created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const clearLatest = prepare('UPDATE tool_versions SET is_latest = 0 WHERE tool_pk = ? AND is_latest = 1')
  const setLatest = prepare('UPDATE tool_versions SET is_latest = 1 WHERE tool_pk = ? AND version = ?')
  const deleteVersion = prepare('DELETE FROM tool_versions WHERE tool_pk = ? AND version = ?')
  const deleteTool = prepare('DELETE FROM tools WHERE id = ?')
  return {
    tool: (toolId) => orNull(selectTool.get(toolId), (row) => readRow(ToolRow, row)),
    stored: (toolId, version) =>
      orNull(selectVersion.get(toolId, version), (row) => readRow(VersionRow, row)),
    removedHash: (toolId, version) =>
      orNull(selectRemoved.get(toolId, version), (row) => readRow(RemovedRow, row).content_hash),
    insertTool(version, marks, now) {
      const { tool_id, tool_type, name, description, executor_id, tags } = version
      const id = randomUUID()
      const named = [id, tool_id, name, description, tool_type, executor_id, ...folders(version)] as const
      insertTool.run(...named, JSON.stringify(tags), marks.is_builtin, marks.is_official, now, now)
      return id
    },
    updateTool(toolPk, version, now) {
      const { name, description, executor_id, tags } = version
      updateTool.run(name, description, executor_id, ...folders(version), JSON.stringify(tags), now, toolPk)
    },
    insertVersion(toolPk, version, now) {
      const { executor_id, manifest, manifest_yaml, content_hash, changelog } = version
      const id = randomUUID()
      const content = [JSON.stringify(manifest), manifest_yaml, content_hash, changelog] as const
      insertVersion.run(id, toolPk, version.version, executor_id, ...content, now)
      files.insert(id, version.encodedFiles)
    },
    markLatest(toolPk, version) {
      clearLatest.run(toolPk)
      setLatest.run(toolPk, version)
    },
    deleteVersion: (toolPk, version) => void deleteVersion.run(toolPk, version),
    deleteTool: (toolPk) => void deleteTool.run(toolPk),
  }
}

/** Checks what the constraints would refuse with a less helpful word, and hashes the files. */
export async function prepareVersion(version: NewVersion): Promise<PreparedVersion> {
  const wrong: { name: string; reason: string }[] = []
  const expect = (isRight: boolean, name: string, reason: string): void => {
    if (!isRight) wrong.push({ name, reason })
  }
  expect(version.tool_id !== '', 'tool_id', 'empty')
  expect(
    /^\d\S*$/.test(version.version) && valid(version.version) !== null,
    'version',
    'not a semantic version such as 1.0.0',
  )
  const needsExecutor = TYPE_RULES[version.tool_type].executor !== null
  expect(
    (version.executor_id !== null) === needsExecutor,
    'executor',
    needsExecutor ? `required for a ${version.tool_type}` : `a ${version.tool_type} has none`,
  )
  const paths = version.files.map(({ path }) => path)
  expect(new Set(paths).size === paths.length, 'files', 'two files have the same path')
  expect(paths.every(isInside), 'files', 'a path is empty, absolute or leaves the item')
  if (wrong.length === 0) return { ...version, encodedFiles: encodeFiles(version.files, version.entrypoint) }
  const reasons = wrong.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
  throw new KiwiError('INVALID_MANIFEST', `Cannot publish "${version.tool_id}": ${reasons}`, {
    details: { missing: [], invalid: wrong },
  })
}

function isInside(path: string): boolean {
  return path !== '' && !path.startsWith('/') && !path.split('/').includes('..')
}

/** `a/b/c` is category `a`, subcategory `b/c`. */
function folders({ category }: NewVersion): readonly [string | null, string | null] {
  if (category === null) return [null, null]
  const slash = category.indexOf('/')
  return slash < 0 ? [category, null] : [category.slice(0, slash), category.slice(slash + 1)]
}

function orNull<T>(row: unknown, read: (row: unknown) => T): T | null {
  return row === undefined ? null : read(row)
}
