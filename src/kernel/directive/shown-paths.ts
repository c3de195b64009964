import { join, relative } from 'node:path'
import { compilePathGlob } from '../policy/glob.ts'
import { realPathOfNearest } from '../policy/expand-path.ts'
import { isAtOrBelow } from '../policy/match.ts'
import type { Match, Rule } from '../policy/rule.ts'
import { meetPaths } from './meet-paths.ts'

/** The paths that rules speak of, as globs from the root on. */
export function shownPaths(rules: readonly Rule[], op: 'read' | 'write'): readonly string[] {
  return rules
    .filter((rule) => rule.op === op && rule.effect !== 'deny')
    .flatMap(({ match }) => pathsOf(match))
}

/** The paths of one rule. */
export function pathsOf(match: Match): readonly string[] {
  if (match.kind === 'path') return match.globs.map((glob) => join(match.root, glob))
  if (match.kind === 'under') return match.paths.map((path) => join(path, '**'))
  return match.kind === 'any' || match.kind === 'chosen' ? ['/**'] : []
}

/** Those of the project from there on. */
export function fromProject(globs: readonly string[], projectPath: string | null): readonly string[] {
  const root = projectPath === null ? null : realPathOfNearest(projectPath)
  return globs.map((glob) => (root !== null && isAtOrBelow(glob, root) ? relative(root, glob) : glob))
}

/** What is both wanted and granted, for people and models: what decides is that both layers must agree. */
export function narrowPaths(wanted: readonly string[], granted: readonly string[]): readonly string[] {
  const both = wanted.flatMap((glob) =>
    granted.some((other) => coversPaths(other, glob))
      ? [glob]
      : granted.flatMap((other) => (coversPaths(glob, other) ? [other] : widest(meetPaths(glob, other)))),
  )
  return [...new Set(both)]
}

/** Without those that others of them hold. */
function widest(globs: readonly string[]): readonly string[] {
  return globs.filter((glob, at) =>
    globs.every(
      (other, before) =>
        before === at || !coversPaths(other, glob) || (coversPaths(glob, other) && at < before),
    ),
  )
}

/** Whether every path of one glob is one of another, tried with paths that no author would write. */
export function coversPaths(wide: string, narrow: string): boolean {
  if (wide.startsWith('/') !== narrow.startsWith('/')) return wide === '/**'
  const fits = compilePathGlob(wide)
  return SAMPLES.every(([any, part]) =>
    fits(
      narrow
        .split('/')
        .map((segment) => (segment === '**' ? any : segment.replaceAll('*', part).replaceAll('?', '\u0003')))
        .join('/'),
    ),
  )
}

/** What stands for `**`, and what for `*`. */
const SAMPLES = [
  ['', ''],
  ['\u0001', '\u0001'],
  ['\u0001/\u0002', '\u0001\u0002'],
] as const
