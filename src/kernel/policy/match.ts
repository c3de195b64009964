import { basename, sep } from 'node:path'
import type { Demand, Match } from './rule.ts'
import { resourceOf } from './rule.ts'

/** Whether a rule's match speaks of a demand of its operation. */
export function matches(match: Match, demand: Demand): boolean {
  switch (match.kind) {
    case 'any':
      return true
    case 'program':
      return demand.op === 'exec' && match.names.includes(basename(demand.program))
    case 'under':
      return match.paths.some((path) => isAtOrBelow(resourceOf(demand), path))
  }
}

function isAtOrBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}
