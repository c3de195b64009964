import { basename, dirname, join } from 'node:path'
import type { LineDraft } from '../chain/shell/draft-line.ts'
import { realPathOf } from '../spaces/disk.ts'
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
    command.paths.map(({ use, path }): Demand => ({ op: use, path: realest(path), isChosen: true })),
  )
  const where: readonly Demand[] = folder.isGiven
    ? [{ op: 'read', path: realest(folder.path), isChosen: true }]
    : []
  return [...started, ...paths, ...where]
}

/** The path as the system names it; of what is not there yet, the part that is. */
function realest(path: string): string {
  const found = realPathOf(path)
  if (found !== null || dirname(path) === path) return found ?? path
  return join(realest(dirname(path)), basename(path))
}
