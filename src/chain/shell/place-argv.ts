import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'
import { realPathOf, statBehind, statOf } from '../../spaces/disk.ts'
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
}

export function placeArgv(judged: JudgedArgv, folder: string, projectPath: string | null): PlacedArgv {
  const at = judged.folders.reduce(leadPath, folder)
  const use = judged.isReadOnly ? 'read' : 'write'
  const chosen = judged.folders.length > 0 ? [{ use, path: at } as const] : []
  const pathsBeside = (top: string | null): readonly PlacedPath[] =>
    judged.paths
      .filter(({ path }) => path !== '-')
      .flatMap((path) => spread(path, at))
      .filter(({ path, isOperand }) => top === null || !isOperand || !isAtOrBelow(path, top))
      .map(({ use: used, path }) => ({ use: used, path }))
  if (!judged.isOnRepository) {
    return { fault: judged.fault, paths: [...chosen, ...pathsBeside(null)], env: {} }
  }
  const repository = findRepository(at)
  if (repository === null) {
    return { fault: judged.fault, paths: [...chosen, ...pathsBeside(null)], env: {} }
  }
  const project = projectPath === null ? null : (realPathOf(projectPath) ?? projectPath)
  const { outside, open } = outlyingOf(repository, project)
  return {
    fault: judged.fault ?? (open === null ? null : unprotected(open)),
    // What is in the repository, the grant of git is for: what it tracks can be seen in any case.
    paths: [...chosen, ...outside.map((path) => ({ use, path }) as const), ...pathsBeside(repository.top)],
    env: { GIT_CEILING_DIRECTORIES: dirname(repository.top) },
  }
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
function spread(
  { use, path, isOperand, sources }: ArgvPath,
  folder: string,
): readonly (PlacedPath & { readonly isOperand: boolean })[] {
  const real = leadPath(folder, path)
  const put = sources.flatMap((source) => {
    const target = statBehind(real)?.isDirectory() === true ? join(real, basename(source)) : real
    return [target, ...namesBelow(leadPath(folder, source)).map((name) => join(target, name))]
  })
  return [real, ...put].map((one) => ({ use, path: leadPath(folder, one), isOperand }))
}

/** The names of all that is in a folder, from there. */
function namesBelow(folder: string): readonly string[] {
  if (statOf(folder)?.isDirectory() !== true) return []
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  if (names.length <= MOST_BELOW) return names
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot use "${folder}": more than ${MOST_BELOW} files and folders are in it`,
    { hint: 'Do it in parts, one folder after the other' },
  )
}
