import type { Demand, Match, Rule, ToolMatch } from '../policy/rule.ts'

/** A rule in pieces that name one thing each, so that another layer can hold some of them and not the others. */
export function piecesOf(rule: Rule): readonly Rule[] {
  return matchesIn(rule.match).map((match) => ({ ...rule, match }))
}

function matchesIn(match: Match): readonly Match[] {
  if (match.kind === 'program' || match.kind === 'directive')
    return match.names.map((name) => ({ ...match, names: [name] }))
  if (match.kind === 'command') return match.patterns.map((pattern) => ({ ...match, patterns: [pattern] }))
  if (match.kind === 'host')
    return match.hosts.flatMap((host) =>
      each(match.methods).map((methods) => ({ ...match, hosts: [host], ...(methods && { methods }) })),
    )
  if (match.kind !== 'tool') return [match]
  return each(match.tools).flatMap((tools) =>
    each(match.actions).flatMap((actions) =>
      each(match.types).map((types) => ({
        ...match,
        ...(tools && { tools }),
        ...(actions && { actions }),
        ...(types && { types }),
      })),
    ),
  )
}

/** One list for each; undefined where there is no list. */
function each(names: readonly string[] | undefined): readonly (readonly string[] | undefined)[] {
  return names === undefined ? [undefined] : names.map((name) => [name])
}

/** What a piece lets happen, in names that no author would write where it speaks of any: who grants these grants all of it. */
export function demandsOf({ op, match }: Rule): readonly Demand[] {
  switch (op) {
    case 'exec':
      return [execOf(match)]
    case 'tool':
      return toolsOf(match.kind === 'tool' ? match : { kind: 'tool' })
    case 'net': {
      const { hosts = ['*'], methods = ['*'] } = match.kind === 'host' ? match : {}
      return hosts.flatMap((host) =>
        methods.map((method) => ({ op, host: named(host), method: named(method), isChosen: true })),
      )
    }
    case 'spawn':
      return (match.kind === 'directive' ? match.names : ['*']).map((name) => ({
        op,
        directive: named(name),
      }))
    case 'read':
    case 'write':
      return []
  }
}

function execOf(match: Match): Demand {
  if (match.kind === 'program') return started(match.names.slice(0, 1))
  if (match.kind === 'prefix') return started(match.words)
  return started(match.kind === 'command' ? (match.patterns[0] ?? '').split(' ') : ['*'])
}

function started(words: readonly string[]): Demand {
  const argv = words.map(named)
  const [program = ''] = argv
  return { op: 'exec', program, isChosen: true, ...(argv.length > 1 ? { argv } : {}) }
}

function toolsOf({ server, tools = ['*'], actions = ['*'], types = [] }: ToolMatch): readonly Demand[] {
  return tools.flatMap((tool) =>
    actions.flatMap((action): readonly Demand[] => {
      const [type] = types
      const demand = { op: 'tool', action: named(action), ...(type === undefined ? {} : { type }) } as const
      const slash = tool.lastIndexOf('/')
      const category = slash < 0 ? {} : { category: named(tool.slice(0, slash)) }
      const own = { ...demand, id: named(tool.slice(slash + 1)), ...category }
      if (server === null) return [own]
      const of = { server: named(server ?? '*'), tool: named(tool) }
      const listed = { ...demand, id: `${of.server}.${of.tool}`, of }
      return server === undefined ? [own, listed] : [listed]
    }),
  )
}

/** Longer than a pattern of `?` that somebody would write. */
const ANY = '\u0001'.repeat(9)

function named(pattern: string): string {
  return pattern.replaceAll('*', ANY).replaceAll('?', '\u0002')
}
