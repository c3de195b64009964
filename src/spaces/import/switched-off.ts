import { join } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { realPathOf, statOf } from '../disk.ts'
import { decodeText, readRegularFile } from '../read-file.ts'
import { withoutComments } from './without-comments.ts'

/**
 * Servers of `.mcp.json` of a project to which a person has said no in Claude Code, which remembers that elsewhere. What
 * cannot be read says nothing.
 */
export function refusedInClaude(home: string, project: string): ReadonlySet<string> {
  const { projects } = objectIn(join(home, '.claude.json'))
  const places = [project, realPathOf(project) ?? project]
  const own = isJsonObject(projects) ? places.map((place) => projects[place]).find(isJsonObject) : undefined
  const files = [
    join(project, '.claude/settings.local.json'),
    join(project, '.claude/settings.json'),
    join(home, '.claude/settings.json'),
  ]
  const said = [own ?? {}, ...files.map(objectIn)]
  return new Set(said.flatMap(({ disabledMcpjsonServers: names }) => namesIn(names)))
}

export function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

function objectIn(path: string): JsonObject {
  if (statOf(path) === null) return {}
  try {
    const text = decodeText(readRegularFile(path, LIMITS.bundleBytes).bytes, path)
    const value: unknown = JSON.parse(withoutComments(text))
    return isJsonObject(value) ? value : {}
  } catch (error) {
    if (error instanceof KiwiError || error instanceof SyntaxError) return {}
    throw error
  }
}
