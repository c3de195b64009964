import { decide } from '../policy/decide.ts'
import type { Demand, Effect, Layer, Rule, Verdict } from '../policy/rule.ts'
import { narrowPaths, shownPaths } from './shown-paths.ts'

/** What is left of the rules of a directive when every layer has spoken: programs and tools that are named one by one, and paths it says it will use. */
export function effectiveRules(rules: readonly Rule[], layers: readonly Layer[]): readonly Rule[] {
  return rules.flatMap((rule): readonly Rule[] => {
    const { op, effect, match } = rule
    if (effect === 'deny') return [rule]
    const split = (names: readonly string[], demandOf: (name: string) => Demand): readonly Part[] => {
      const said = names.map((name) => ({
        name,
        effect: isPattern(name) ? effect : decide(layers, [demandOf(name)], null).effect,
      }))
      return (['allow', 'ask'] as const)
        .map((one) => ({
          effect: one,
          names: said.filter((each) => each.effect === one).map(({ name }) => name),
        }))
        .filter((part) => part.names.length > 0)
    }
    if (op === 'exec' && match.kind === 'program')
      return split(match.names, execDemand).map((part) => ({
        ...rule,
        effect: part.effect,
        match: { ...match, names: part.names },
      }))
    if (op === 'read' || op === 'write') return withinWanted(rule, op, layers)
    if (op !== 'tool' || match.kind !== 'tool' || match.actions !== undefined) return [rule]
    const { server } = match
    if (typeof server !== 'string' || isPattern(server)) return [rule]
    const tools = match.tools ?? wantedOf(server, layers)
    if (tools === null) return [rule]
    const demandOf = (tool: string): Demand => ({
      op: 'tool',
      id: `${server}.${tool}`,
      action: 'run',
      of: { server, tool },
    })
    return split(tools, demandOf).map((part) => ({
      ...rule,
      effect: part.effect,
      match: { ...match, tools: part.names },
    }))
  })
}

/** Paths that are granted, as far as the directive says that it will use them. */
function withinWanted(rule: Rule, op: 'read' | 'write', layers: readonly Layer[]): readonly Rule[] {
  if (rule.match.kind !== 'path') return [rule]
  const granted = shownPaths([rule], op)
  const left = layers
    .filter(({ source }) => source.kind === 'tools')
    .reduce((paths, { rules }) => narrowPaths(paths, shownPaths(rules, op)), granted)
  if (left === granted || left.join() === granted.join()) return [rule]
  return left.length === 0 ? [] : [{ ...rule, match: { kind: 'path', root: '/', globs: left } }]
}

/** The tools of a server that a directive says it will use, where it grants all of them; null for any. */
function wantedOf(server: string, layers: readonly Layer[]): readonly string[] | null {
  const rules = layers.flatMap((layer) => (layer.source.kind === 'tools' ? layer.rules : []))
  const found = rules.flatMap(({ match }) =>
    match.kind === 'tool' && match.server === server && match.tools !== undefined ? [match.tools] : [],
  )
  return found.length === 0 ? null : found.flat()
}

interface Part {
  readonly effect: Effect
  readonly names: readonly string[]
}

/** What all layers say of a command that a directive may start: a program, or one with its first words. */
export function judgeCommand(command: string, layers: readonly Layer[]): Verdict | null {
  return isPattern(command.split(' ', 1).join('')) ? null : decide(layers, [execDemand(command)], null)
}

/** A program, or a command of it: `git`, `git status`, `git *`. */
export function execDemand(command: string): Extract<Demand, { op: 'exec' }> {
  const words = command.split(' ')
  const argv = words.filter((word) => word !== '*')
  const [program = command] = argv
  return { op: 'exec', program, isChosen: true, ...(words.length > 1 ? { argv } : {}) }
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name)
}
