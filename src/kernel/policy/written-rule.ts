import { basename } from 'node:path'
import { isGlob } from '../../shared/glob.ts'
import type { WrittenRule } from '../../spaces/harness-file.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath, pathFault } from './expand-path.ts'
import { globFault, hostFault, nameFault } from './glob.ts'
import { serverFault, toolFault, toolOf } from './groups.ts'
import type { Effect, Match } from './rule.ts'

/** What a rule of a file speaks of: one match for each path, else one. None when it needs a project and there is none. */
export function matchesOf(rule: WrittenRule, context: PathContext): readonly Match[] {
  switch (rule.op) {
    case 'tool':
      return [toolMatch(rule.match)]
    case 'exec':
      return execMatches(rule.match, rule.effect)
    case 'net': {
      const { host = ['*'], method } = rule.match
      const methods = method?.map((name) => name.toUpperCase())
      return [{ kind: 'host', hosts: host, ...(methods === undefined ? {} : { methods }) }]
    }
    case 'read':
    case 'write': {
      const path = rule.match.path
      return path === undefined ? [ANY] : path.flatMap((text) => expandPath(text, context) ?? [])
    }
    case 'spawn': {
      const names = rule.match.directive
      return [names === undefined ? ANY : { kind: 'directive', names }]
    }
  }
}

const ANY: Match = { kind: 'any' }

type Given<Op extends WrittenRule['op']> = Extract<WrittenRule, { op: Op }>['match']

function toolMatch({ server, tool, actions }: Given<'tool'>): Match {
  return {
    kind: 'tool',
    ...(server === undefined ? {} : { server }),
    ...(tool === undefined ? {} : { tools: tool.map((name) => asCalled(server, name)) }),
    ...(actions === undefined ? {} : { actions }),
  }
}

/** `write_file` of the files, and `filesystem.write_file`, are called `write` here. */
function asCalled(given: string | undefined, name: string): string {
  const { server, tool } = partsOf(given, name)
  if (server === null) return name
  return tool === name ? toolOf(server, tool) : `${server}.${toolOf(server, tool)}`
}

/** Why a tool of this name is none, or null. */
function toolNameFault(given: string | undefined, name: string): string | null {
  const { server, tool } = partsOf(given, name)
  return nameFault(name) ?? (server === null ? null : toolFault(server, tool))
}

/** A name may begin with that of its server, also where that is given beside it. */
function partsOf(given: string | undefined, name: string): { server: string | null; tool: string } {
  const dot = name.indexOf('.')
  const first = dot <= 0 ? null : name.slice(0, dot)
  if (given !== undefined && first !== given) return { server: given, tool: name }
  return { server: first, tool: name.slice(dot + 1) }
}

/** What is let pass is meant as it is written; what is refused is meant in any spelling. */
function execMatches({ program, command }: Given<'exec'>, effect: Effect): readonly Match[] {
  if (command === undefined) return [program === undefined ? ANY : { kind: 'program', names: program }]
  if (effect !== 'allow') return [{ kind: 'command', patterns: command }]
  return command.map((text) => ({ kind: 'prefix', words: text.trim().split(/\s+/) }))
}

type Fault = readonly [path: readonly PropertyKey[], reason: string]

/** Why a rule could never match, by the place in it. */
export function ruleFaults(rule: WrittenRule): readonly Fault[] {
  switch (rule.op) {
    case 'tool': {
      const { server, tool, actions } = rule.match
      return [
        ...judge('server', server === undefined ? [] : [server], serverFault),
        ...judge('tool', tool, (name) => toolNameFault(server, name)),
        ...judge('actions', actions, (action) => (ACTIONS.has(action) ? null : 'is no action of an item')),
      ]
    }
    case 'exec': {
      const { program, command } = rule.match
      const isBoth = program !== undefined && command !== undefined
      return [
        ...(isBoth ? [[['match'], 'it has both program and command: write two rules'] as const] : []),
        ...judge('program', program, programFault),
        ...judge('command', command, (text) => commandFault(text, rule.effect)),
      ]
    }
    case 'net':
      return [
        ...judge('host', rule.match.host, hostFault),
        ...judge('method', rule.match.method, (name) => (/^[a-z]+$/i.test(name) ? null : 'is no method')),
      ]
    case 'read':
    case 'write':
      return judge('path', rule.match.path, pathFault)
    case 'spawn':
      return judge('directive', rule.match.directive, nameFault)
  }
}

type FaultOf = (value: string) => string | null

function judge(key: string, values: readonly string[] = [], faultOf: FaultOf): readonly Fault[] {
  return values.flatMap((value) => {
    const fault = faultOf(value)
    return fault === null ? [] : [[['match', key], `"${value}" ${fault}`] as const]
  })
}

const ACTIONS: ReadonlySet<string> = new Set(
  'run create update delete publish sign copy rollback import undo trust approve deny notice grant grant.revoke secret.set secret.rm erase search load help list discover login logout sample'.split(
    ' ',
  ),
)

/** A program is named by the last part of its path, or by all of it. */
export function programFault(name: string): string | null {
  if (/\s/.test(name)) return 'is more than the name of a program: write a rule with match.command'
  if (name.includes('/') && !name.startsWith('/'))
    return 'is a path that is not absolute, so it can never match'
  if (name.includes('/') && isGlob(name)) return 'is a path with a pattern in it, so it can never match'
  return globFault(name)
}

/** A command is compared word by word with what is started: nothing that only a shell reads is among that. */
export function commandFault(text: string, effect: Effect): string | null {
  const [program = '', ...words] = text.trim().split(/\s+/)
  if (program === '') return 'is empty'
  const other = /[|;&<>`'"]|\$\(/.exec(text)?.[0]
  if (other !== undefined)
    return `holds ${other}, which only a shell reads, so it can never match: name one command, without quotes`
  // What is refused is meant wherever the program lies.
  if (effect !== 'allow') return isGlob(program) ? programFault(program) : globFault(basename(program))
  const isStarInside = words.some((word, at) => isGlob(word) && !(word === '*' && at === words.length - 1))
  return isStarInside
    ? 'has a pattern that is no * alone at its end, so it can never match'
    : programFault(program)
}
