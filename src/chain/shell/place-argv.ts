import { basename, dirname, join } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'
import { list, realPathOf, statBehind, statOf } from '../../spaces/disk.ts'
import type { ArgvPath } from './argv-paths.ts'
import type { JudgedArgv } from './judge-argv.ts'
import { isAtOrBelow, leadPath } from './lead-path.ts'
import { findRepository, outlyingOf } from './repository.ts'

/** What a command would read and write where it is started. */
export interface PlacedArgv {
  readonly fault: JudgedArgv['fault']
  readonly paths: readonly PlacedPath[]
  /** Variables that keep it to what was looked at. */
  readonly env: Readonly<Record<string, string>>
}

export interface PlacedPath {
  readonly use: 'read' | 'write'
  /** As the system names it. */
  readonly path: string
  /** With all that is in it. */
  readonly isWhole?: true
}

export function placeArgv(judged: JudgedArgv, folder: string, projectPath: string | null): PlacedArgv {
  const at = judged.folders.reduce(leadPath, folder)
  const use = judged.isReadOnly ? 'read' : 'write'
  const repository = judged.isOnRepository ? findRepository(at) : null
  const chosen = judged.folders.length > 0 ? [at] : []
  const named = pathsBeside(repository?.top ?? null, judged.paths, at)
  const placed = (folders: readonly string[]): readonly PlacedPath[] => [
    ...[...chosen, ...folders].map((path) => ({ use, path }) as const),
    ...named,
  ]
  if (repository === null) return { fault: judged.fault, paths: placed([]), env: {} }
  const project = projectPath === null ? null : (realPathOf(projectPath) ?? projectPath)
  const { outside, open } = outlyingOf(repository, project)
  return {
    fault: judged.fault ?? (open === null ? null : unprotected(open)),
    paths: placed(outside),
    env: { GIT_CEILING_DIRECTORIES: dirname(repository.top) },
  }
}

/**
 * What is in the repository, the grant of git is for: what it tracks can be seen in any case. With an operand from
 * elsewhere, git looks at files, tracked or not.
 */
function pathsBeside(top: string | null, paths: readonly ArgvPath[], folder: string): readonly PlacedPath[] {
  const all = paths
    .filter(({ path }) => path !== '-')
    .map((each) => ({ isOperand: each.isOperand, placed: spread(each, folder) }))
  const isInside = (placed: readonly PlacedPath[]): boolean =>
    top !== null && placed.every(({ path }) => isAtOrBelow(path, top))
  const isCovered = all.every(({ isOperand, placed }) => !isOperand || isInside(placed))
  return all.flatMap(({ isOperand, placed }) => (isOperand && isCovered ? [] : placed))
}

function unprotected(folder: string): NonNullable<JudgedArgv['fault']> {
  return {
    reason: `git: the repository keeps its data in "${folder}", which is in no folder named .git, so that anything may write there`,
    remedy: 'Ask the person to look at the files .git, .git/commondir and .git/objects/info/alternates',
  }
}

/** A bound on the work of a call, and on its record. */
const MOST_BELOW = 2000

/** All that a path stands for, with links followed. */
function spread({ use, path, sources, isWhole }: ArgvPath, folder: string): readonly PlacedPath[] {
  const real = leadPath(folder, path)
  const put = sources.flatMap((source) => {
    const target = statBehind(real)?.isDirectory() === true ? join(real, basename(source)) : real
    return [target, ...namesBelow(leadPath(folder, source)).map((name) => join(target, name))]
  })
  return [
    { use, path: real, ...(isWhole ? { isWhole } : {}) },
    ...put.map((one) => ({ use, path: leadPath(folder, one) })),
  ]
}

/** The names of all that is in a folder, from there. */
function namesBelow(folder: string): readonly string[] {
  if (statOf(folder)?.isDirectory() !== true) return []
  const names: string[] = []
  const open = ['']
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of list(join(folder, at))) {
      const name = join(at, entry.name)
      names.push(name)
      if (entry.isDirectory()) open.push(name)
    }
    if (names.length > MOST_BELOW) {
      throw new KiwiError(
        'INVALID_PARAMETERS',
        `Cannot use "${folder}": more than ${MOST_BELOW} files and folders are in it`,
        { hint: 'Do it in parts, one folder after the other' },
      )
    }
  }
  return names
}
