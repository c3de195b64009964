import { resolve } from 'node:path'
import type { LineDraft } from '../chain/shell/draft-line.ts'
import { RAW } from '../chain/shell/draft-line.ts'
import { pathsInWord } from '../chain/shell/word-paths.ts'
import { realPathOfNearest } from './policy/expand-path.ts'
import type { Demand } from './policy/rule.ts'

/** Tells of a path whether it is one of Kiwi's own. */
export interface OwnPaths {
  readonly isNeverRead: (path: string) => boolean
  readonly isNeverWritten: (path: string) => boolean
}

/** Every command of a line, and every path they name: all of it is judged before anything starts. */
export function lineDemands({ commands, folder }: LineDraft, own: OwnPaths): readonly Demand[] {
  const started = commands.flatMap(({ program, argv, fault, runsCode, script }): readonly Demand[] => [
    { op: 'exec', program, argv, isChosen: true, runsCode, ...(fault === null ? {} : { fault }) },
    ...(script === null ? [] : [rawDemand(script)]),
  ])
  const paths = commands.flatMap((command) =>
    command.paths.map(({ use, ...path }): Demand => ({ op: use, ...path, isChosen: true })),
  )
  const where: readonly Demand[] = folder.isGiven
    ? [{ op: 'read', path: realPathOfNearest(folder.path), isChosen: true }]
    : []
  return [
    ...started,
    ...commands.flatMap(({ git }) => gitDemands(git)),
    ...paths,
    ...commands.flatMap((command) => ownDemands(command, own)),
    ...where,
  ]
}

/** Where somebody decided about the tools of git, a command that does the same is held to it. */
export function gitDemands(subcommands: readonly string[]): readonly Demand[] {
  return subcommands.map((tool) => ({
    op: 'tool',
    id: `git.${tool}`,
    action: 'run',
    of: { server: 'git', tool },
    isCommand: true,
  }))
}

/** The same as for a script that is sent as one. */
function rawDemand(script: string): Demand {
  return { op: 'exec', program: RAW, argv: [RAW, script], isChosen: true, runsCode: true }
}

/** What is Kiwi's own is judged wherever it is named: of most programs nobody knows which argument they write to. */
function ownDemands(
  { program, argv, folder, isReadOnly }: LineDraft['commands'][number],
  { isNeverRead, isNeverWritten }: OwnPaths,
): readonly Demand[] {
  if (program === RAW) return []
  const named = new Set(argv.slice(1).flatMap(pathsInWord))
  const real = new Set([...named].flatMap((path) => reached(resolve(folder, path))))
  return [...real].flatMap((path): readonly Demand[] => [
    ...(isNeverRead(path) ? [{ op: 'read', path, isChosen: true } as const] : []),
    ...(!isReadOnly && isNeverWritten(path) ? [{ op: 'write', path, isChosen: true } as const] : []),
  ])
}

/** Most words are no paths: what the system does not take as one leads nowhere. */
function reached(path: string): readonly string[] {
  try {
    return [realPathOfNearest(path)]
  } catch {
    return []
  }
}
