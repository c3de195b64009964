import { dirname } from 'node:path'
import { realPathOf, statOf } from '../../spaces/disk.ts'
import { isAtOrBelow, leadPath } from './lead-path.ts'
import type { PlacedPath } from './place-argv.ts'

const LONGEST_PATH = 4096

/** What in a word may be a path: `x`, `of=x`, `--file=x`, `-ox`, `@x`, `x:y`, `file:///x`. */
export function pathsInWord(word: string): readonly string[] {
  if (word.length > LONGEST_PATH || word.includes('\0')) return []
  const slash = word.indexOf('/')
  const found = [
    word,
    ...word.split(/[=:,@]/),
    word.replace(/^-[A-Za-z]/, ''),
    slash < 0 ? '' : word.slice(slash),
  ]
  return found.filter((path) => path !== '')
}

/**
 * Of a program of which nothing is known nobody can tell which argument it opens: whatever leads out of the project,
 * to something that is there or could be made there, counts as read.
 */
export function outlyingPaths(
  argv: readonly string[],
  folder: string,
  projectPath: string | null,
): readonly PlacedPath[] {
  const project = projectPath === null ? null : (realPathOf(projectPath) ?? projectPath)
  const isOutside = (path: string): boolean => project === null || !isAtOrBelow(path, project)
  const led = argv.slice(1).flatMap((word) =>
    pathsInWord(word)
      // A sign that separates is no place, unless it stands by itself.
      .filter((path) => !/^\/+$/.test(path) || path === word)
      .map((path) => leadPath(folder, path))
      .filter((path) => isOutside(path) && mayBeMeant(path)),
  )
  return [...new Set(led)].map((path) => ({ use: 'read', path }))
}

/** Most words are no paths: what is not there, and in no folder that is, leads nowhere. */
function mayBeMeant(path: string): boolean {
  const above = dirname(path)
  return isThere(path) || (above !== '/' && isThere(above))
}

function isThere(path: string): boolean {
  try {
    return statOf(path) !== null
  } catch {
    return false
  }
}
