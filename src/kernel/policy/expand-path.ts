import { basename, dirname, join, resolve } from 'node:path'
import { realPathOf } from '../../spaces/disk.ts'
import { globFault } from './glob.ts'
import type { Match } from './rule.ts'

export interface PathContext {
  readonly home: string
  readonly projectPath: string | null
}

/**
 * What a path or a glob of a policy speaks of: `~` and `${PROJECT_PATH}` filled in, relative to the project, links
 * followed as far as they are there. Null without the project it needs.
 */
export function expandPath(text: string, { home, projectPath }: PathContext): Match | null {
  const written = text.replace(/^\$\{PROJECT_PATH\}(?=\/|$)/, '.').replace(/^~(?=\/|$)/, () => home)
  const from = written.startsWith('/') ? '/' : projectPath
  if (from === null) return null
  const segments = written.split('/').filter((segment) => segment !== '' && segment !== '.')
  const first = segments.findIndex((segment) => /[*?]/.test(segment))
  const root = realPathOfNearest(resolve(from, segments.slice(0, first < 0 ? undefined : first).join('/')))
  if (first < 0) return { kind: 'under', paths: [root] }
  return { kind: 'path', root, globs: [segments.slice(first).join('/')] }
}

/** What is wrong with a path, or null. */
export function pathFault(text: string): string | null {
  const rest = text.replace(/^(?:\$\{PROJECT_PATH\}|~|\.)(?=\/|$)/, '')
  if (rest.includes('$')) return 'holds a variable: only ${PROJECT_PATH} is known, at its beginning'
  if (text.startsWith('~') && rest === text) return 'names the home of another person: write it out'
  return rest === '' && text !== '' ? null : globFault(rest)
}

/** With every link followed; of what is not there yet, as far as it is. */
export function realPathOfNearest(path: string): string {
  return realPathOf(path) ?? join(realPathOfNearest(dirname(path)), basename(path))
}
