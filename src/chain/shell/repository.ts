import { readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { realPathOf, statBehind, statOf } from '../../spaces/disk.ts'
import { isAtOrBelow, leadPath } from './lead-path.ts'

/** A repository as it lies on the disk, found without asking git, which would follow what the repository says. */
export interface Repository {
  /** The folder that holds `.git`. */
  readonly top: string
  /** Where its data is: the folder of git, the one it shares, and those that objects are borrowed from. */
  readonly folders: readonly string[]
}

export function findRepository(folder: string): Repository | null {
  for (let at = realPathOf(folder) ?? folder; ; at = dirname(at)) {
    if (statOf(join(at, '.git')) !== null) return { top: at, folders: foldersOf(at) }
    if (dirname(at) === at) return null
  }
}

function foldersOf(top: string): readonly string[] {
  const entry = leadPath(top, '.git')
  const named = /^gitdir:(.*)/su.exec(textOf(entry))?.[1]?.trim()
  const own = named === undefined ? entry : leadPath(top, named)
  const common = textOf(join(own, 'commondir')).trim()
  const shared = common === '' ? own : leadPath(own, common)
  return [...new Set([own, shared, ...objectFolders(leadPath(shared, 'objects'), MOST_BORROWED)])]
}

/** As far as git follows them. */
const MOST_BORROWED = 5

function objectFolders(objects: string, left: number): readonly string[] {
  if (left === 0) return [objects]
  const borrowed = textOf(join(objects, 'info', 'alternates'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return [objects, ...borrowed.flatMap((line) => objectFolders(leadPath(objects, line), left - 1))]
}

function textOf(file: string): string {
  return statBehind(file)?.isFile() === true ? readFileSync(file, 'utf8') : ''
}

/** What of a repository lies elsewhere than in the project, and what in it nothing protects. */
export interface Outlying {
  readonly outside: readonly string[]
  /** A folder of git in the project that is in no `.git`, so that it can be written like any other; null for none. */
  readonly open: string | null
}

export function outlyingOf({ top, folders }: Repository, project: string | null): Outlying {
  const isInside = (path: string): boolean => project !== null && isAtOrBelow(path, project)
  const outside = [top, ...folders.map(holderOf)].filter((path) => !isInside(path))
  const open = folders.find((path) => isInside(path) && holderOf(path) === path) ?? null
  return { outside: [...new Set(outside)], open }
}

/** The folder whose `.git` a path is in; the path itself when it is in none. */
function holderOf(path: string): string {
  const segments = path.split(sep)
  const at = segments.indexOf('.git')
  return at < 0 ? path : segments.slice(0, at).join(sep) || sep
}
