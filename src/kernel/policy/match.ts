import { basename, sep } from 'node:path'
import type { ArgvPolicies } from '../../chain/shell/argv-policy.ts'
import { compilePattern, matchesArgv, wordsBehind, wrappersOf } from '../../chain/shell/argv-pattern.ts'
import { familyOf } from '../../chain/shell/program-family.ts'
import { serverName } from '../../shared/groups.ts'
import type { Fits } from '../../shared/name-glob.ts'
import { compileNameGlob } from '../../shared/name-glob.ts'
import { compilePathGlob } from './glob.ts'
import type { Demand, Effect, Match, ToolMatch } from './rule.ts'

type SpeaksOf = (demand: Demand) => boolean

/** What a match speaks of, made ready once. */
export function compileMatch(match: Match, policies: ArgvPolicies, effect: Effect = 'allow'): SpeaksOf {
  if (isOfExec(match)) return ofExec(execMatch(match, policies, effect))
  switch (match.kind) {
    case 'any':
      return () => true
    case 'fixed':
      return isFixed
    case 'chosen':
      return (demand) => !isFixed(demand)
    case 'under':
      return ofPath((path) => match.paths.some((root) => isAtOrBelow(path, root)))
    case 'around':
      return ofPath((path) => match.paths.some((held) => isAtOrBelow(held, path)))
    case 'path':
      return ofPath(below(match.root, match.globs.map(compilePathGlob)))
    case 'tool':
      return match.isCalled === true ? called(tools(match)) : tools(match)
    case 'host':
      return hosts(match, effect)
    case 'directive': {
      const names = match.names.map(compileNameGlob)
      return (demand) => demand.op === 'spawn' && names.some((fits) => fits(demand.directive))
    }
  }
}

/** What the manifest of a trusted tool says, and not the call. */
export function isFixed(demand: Demand): boolean {
  if (demand.op === 'tool') return demand.isChosen === false
  return demand.op !== 'spawn' && demand.isChosen !== true
}

export function isAtOrBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

type Exec = Extract<Demand, { op: 'exec' }>

const OF_EXEC = ['program', 'command', 'prefix', 'runs_code', 'starts'] as const
type ExecMatch = Extract<Match, { kind: (typeof OF_EXEC)[number] }>

function isOfExec(match: Match): match is ExecMatch {
  return OF_EXEC.some((kind) => kind === match.kind)
}

function execMatch(match: ExecMatch, policies: ArgvPolicies, effect: Effect): (demand: Exec) => boolean {
  switch (match.kind) {
    case 'program':
      return effect === 'allow' || policies.size === 0
        ? programs(match.names)
        : started(match.names, wrappersOf(policies))
    case 'command': {
      const patterns = match.patterns.map((text) => compilePattern(text, policies))
      return ({ program, argv = [program] }) =>
        patterns.some((pattern) => matchesArgv(pattern, [program, ...argv.slice(1)]))
    }
    case 'prefix':
      return prefix(match.words)
    case 'runs_code':
      return ({ runsCode }) => runsCode === true
    case 'starts':
      return ({ program, argv = [] }) => match.files.some((file) => [program, ...argv].includes(file))
  }
}

function ofExec(speaksOf: (demand: Exec) => boolean): SpeaksOf {
  return (demand) => demand.op === 'exec' && speaksOf(demand)
}

function ofPath(speaksOf: Fits): SpeaksOf {
  return (demand) => (demand.op === 'read' || demand.op === 'write') && speaksOf(demand.path)
}

/** A script that only a shell can read. */
export const RAW = 'shell:raw'

function programs(names: readonly string[]): (demand: Exec) => boolean {
  const paths = new Set(names.filter((name) => name.includes('/')))
  const globs = names.filter((name) => !name.includes('/')).map(compileNameGlob)
  return ({ program }) => {
    // A script that only a shell can read is meant by nobody who does not name it.
    if (program === RAW) return names.includes(RAW)
    const name = basename(program)
    const family = familyOf(program)
    return paths.has(program) || globs.some((fits) => fits(name) || fits(family))
  }
}

/** What is refused or asked about is so as well where another program starts it. */
function started(names: readonly string[], wrappers: ReadonlySet<string>): (demand: Exec) => boolean {
  const isOne = programs(names)
  return (demand) => {
    const { program, argv = [] } = demand
    if (isOne(demand)) return true
    return wordsBehind([program, ...argv.slice(1)], wrappers).some((word) =>
      isOne({ op: 'exec', program: word }),
    )
  }
}

function prefix(words: readonly string[]): (demand: Exec) => boolean {
  const isOpen = words.at(-1) === '*'
  const [first = '', ...rest] = isOpen ? words.slice(0, -1) : words
  const isProgram = programs([first])
  return (demand) => {
    const given = demand.argv?.slice(1)
    return (
      isProgram(demand) &&
      given !== undefined &&
      (isOpen ? given.length >= rest.length : given.length === rest.length) &&
      rest.every((word, at) => word === given[at])
    )
  }
}

function below(root: string, globs: readonly Fits[]): Fits {
  return (path) => isAtOrBelow(path, root) && globs.some((fits) => fits(path.slice(root.length)))
}

function called(speaksOf: SpeaksOf): SpeaksOf {
  return (demand) => !(demand.op === 'tool' && demand.isCommand === true) && speaksOf(demand)
}

function tools({ server, except = [], tools: names, types, actions }: ToolMatch): SpeaksOf {
  const fitsServer = typeof server === 'string' ? compileNameGlob(anySpelling(server)) : null
  const fitsName = (names ?? []).map(toolName)
  return (demand) => {
    if (demand.op !== 'tool') return false
    const { of, action, type } = demand
    if (actions !== undefined && !actions.includes(action)) return false
    if (types !== undefined && (type === undefined || !types.includes(type))) return false
    if (of === undefined) {
      if (fitsServer !== null) return false
    } else if (server === null || except.includes(of.server) || fitsServer?.(of.server) === false) {
      return false
    }
    return names === undefined || fitsName.some((fits) => fits(demand))
  }
}

/** One that is named is meant in every spelling of its name; a pattern fits names as people say them. */
function anySpelling(server: string): string {
  return /[*?]/.test(server) ? server : serverName(server)
}

/**
 * By its name at the server, methods among them, or with a dot by both names; else by its id, where a pattern with a `/`
 * is one over categories.
 */
function toolName(pattern: string): (demand: Extract<Demand, { op: 'tool' }>) => boolean {
  const fits = compileNameGlob(pattern)
  const isOfCategories = pattern.includes('/')
  const dot = pattern.indexOf('.')
  const fitsWhole =
    dot < 1 ? null : compileNameGlob(`${anySpelling(pattern.slice(0, dot))}${pattern.slice(dot)}`)
  return ({ of, id, category = '' }) =>
    of === undefined
      ? fits(isOfCategories ? `${category}/${id}` : id)
      : fits(of.tool) || fitsWhole?.(`${of.server}.${of.tool}`) === true
}

/**
 * `*.example.org` does not speak of `example.org`. What is let pass has its port written where that is not the usual one;
 * what is refused is meant at every port. A dot at the end of a name changes nothing of it.
 */
function hosts({ hosts: given, methods }: Extract<Match, { kind: 'host' }>, effect: Effect): SpeaksOf {
  const globs = given.map((host) => compileNameGlob(plainHost(host)))
  return (demand) => {
    if (demand.op !== 'net') return false
    if (methods !== undefined && !methods.includes(demand.method.toUpperCase())) return false
    const host = plainHost(demand.host)
    const names = effect === 'allow' ? [host] : [host, host.replace(/:\d+$/, '')]
    return globs.some((fits) => names.some(fits))
  }
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.(?=:\d+$|$)/, '')
}
