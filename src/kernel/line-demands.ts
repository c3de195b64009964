import type { LineDraft } from '../chain/shell/draft-line.ts'
import { realPathOfNearest } from './policy/expand-path.ts'
import type { Demand } from './policy/rule.ts'

/** Every command of a line, and every path they name: all of it is judged before anything starts. */
export function lineDemands({ commands, folder }: LineDraft): readonly Demand[] {
  const started = commands.map(({ program, argv, fault, runsCode }): Demand => ({
    op: 'exec',
    program,
    argv,
    isChosen: true,
    runsCode,
    ...(fault === null ? {} : { fault }),
  }))
  const paths = commands.flatMap((command) =>
    command.paths.map(({ use, path }): Demand => ({ op: use, path, isChosen: true })),
  )
  const where: readonly Demand[] = folder.isGiven
    ? [{ op: 'read', path: realPathOfNearest(folder.path), isChosen: true }]
    : []
  return [...started, ...paths, ...where]
}
