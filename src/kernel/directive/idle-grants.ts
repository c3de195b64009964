import { GROUPS, serverName } from '../../shared/groups.ts'
import type { WantedTools } from '../../spaces/directive/model.ts'
import type { Demand, Rule } from '../policy/rule.ts'

/** What a directive grants and no run of it can use, because it says that it will use other things. */
export function idleGrants(
  rules: readonly Rule[],
  wanted: WantedTools,
  isWanted: (demand: Demand) => boolean,
): readonly string[] {
  const idle = rules
    .filter(({ effect }) => effect !== 'deny')
    .flatMap(({ op, match }): readonly string[] => {
      if ((op === 'read' || op === 'write') && wanted.filesystem?.[op].length === 0) return [op]
      if (op === 'exec' && match.kind === 'program')
        return match.names.filter((program) => !isPattern(program) && !isWanted({ op, program }))
      if (op !== 'tool' || match.kind !== 'tool' || typeof match.server !== 'string') return []
      // Of files and the shell, what is done with them is granted; the tools are only the way to it.
      const { server, tools = ['*'] } = match
      if (isPattern(server) || GROUPS.some((group) => group === server)) return []
      return tools
        .filter((tool) => !isWanted(demandOf(server, tool)) && !(isPattern(tool) && isNamed(server, wanted)))
        .map((tool) => `${server}.${tool}`)
    })
  return [...new Set(idle)]
}

function isNamed(server: string, { servers }: WantedTools): boolean {
  return servers.some(({ name }) => serverName(name) === server)
}

function demandOf(server: string, tool: string): Demand {
  return { op: 'tool', id: `${server}.${tool}`, action: 'run', of: { server, tool } }
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name)
}
