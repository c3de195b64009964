import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { WrittenRule } from '../../spaces/harness-file.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath, pathFault } from './expand-path.ts'
import { globFault } from './glob.ts'
import { serverFault } from './groups.ts'
import type { Demand, Match } from './rule.ts'

/** What a rule of a file speaks of: one match for each path, else one. None when it needs a project and there is none. */
export function matchesOf(rule: WrittenRule, context: PathContext): readonly Match[] {
  const { op, effect } = rule
  switch (op) {
    case 'tool': {
      const { server, tool, actions } = rule.match ?? {}
      return [
        {
          kind: 'tool',
          ...(server === undefined ? {} : { server }),
          ...(tool === undefined ? {} : { tools: tool }),
          ...(actions === undefined ? {} : { actions }),
        },
      ]
    }
    case 'exec': {
      const { program, command } = rule.match ?? {}
      if (command !== undefined) {
        // What is let pass is meant as it is written; what is refused is meant in any spelling.
        return effect === 'allow'
          ? command.map((text) => ({ kind: 'prefix', words: text.trim().split(/\s+/) }))
          : [{ kind: 'command', patterns: command }]
      }
      return [program === undefined ? { kind: 'any' } : { kind: 'program', names: program }]
    }
    case 'net': {
      const { host = ['*'], method } = rule.match ?? {}
      const methods = method?.map((name) => name.toUpperCase())
      return [{ kind: 'host', hosts: host, ...(methods === undefined ? {} : { methods }) }]
    }
    case 'read':
    case 'write': {
      const { path } = rule.match ?? {}
      return path === undefined ? [{ kind: 'any' }] : path.flatMap((text) => expandPath(text, context) ?? [])
    }
    case 'spawn': {
      const { directive } = rule.match ?? {}
      return [directive === undefined ? { kind: 'any' } : { kind: 'directive', names: directive }]
    }
  }
}

type Fault = readonly [path: readonly PropertyKey[], reason: string]

/** Why a rule could never match, by the place in it. */
export function ruleFaults(rule: WrittenRule): readonly Fault[] {
  const judge = (key: string, values: readonly string[] = [], faultOf: FaultOf): readonly Fault[] =>
    values.flatMap((value) => {
      const fault = faultOf(value)
      return fault === null ? [] : [[['match', key], `"${value}" ${fault}`] as const]
    })
  switch (rule.op) {
    case 'tool': {
      const { server, tool, actions } = rule.match ?? {}
      return [
        ...judge('server', server === undefined ? [] : [server], serverFault),
        ...judge('tool', tool, globFault),
        ...judge('actions', actions, (action) => (ACTIONS.has(action) ? null : 'is no action of an item')),
      ]
    }
    case 'exec': {
      const { program, command } = rule.match ?? {}
      const isBoth = program !== undefined && command !== undefined
      return [
        ...(isBoth ? [[['match'], 'it has both program and command: write two rules'] as const] : []),
        ...judge('program', program, programFault),
        ...judge('command', command, (text) => (text.trim() === '' ? 'is empty' : null)),
      ]
    }
    case 'net':
      return [
        ...judge('host', rule.match?.host, (host) =>
          /[/\s]/.test(host) ? 'is no host: leave scheme and path out' : globFault(host),
        ),
        ...judge('method', rule.match?.method, (name) => (/^[a-z]+$/i.test(name) ? null : 'is no method')),
      ]
    case 'read':
    case 'write':
      return judge('path', rule.match?.path, pathFault)
    case 'spawn':
      return judge('directive', rule.match?.directive, globFault)
  }
}

type FaultOf = (value: string) => string | null

const ACTIONS: ReadonlySet<string> = new Set(
  'run create update delete publish sign copy rollback import trust search load help'.split(' '),
)

/** A program is named by the last part of its path, or by all of it. */
export function programFault(name: string): string | null {
  if (/\s/.test(name)) return 'is more than the name of a program: write a rule with match.command'
  if (name.includes('/') && !name.startsWith('/'))
    return 'is a path that is not absolute, so it can never match'
  return globFault(name)
}

/** What an example stands for; null when it stands for nothing of the rule's operation. */
export function exampleOf(
  op: Demand['op'],
  example: JsonValue,
  context: PathContext,
): { readonly demand: Demand; readonly parameters: JsonObject } | null {
  const { of: value = example, parameters = {} } = isJsonObject(example) ? example : {}
  const demand = demandOf(op, value, context)
  return demand === null || !isJsonObject(parameters) ? null : { demand, parameters }
}

function demandOf(op: Demand['op'], value: JsonValue, context: PathContext): Demand | null {
  if (op === 'exec') {
    const argv: readonly unknown[] = typeof value === 'string' ? value.trim().split(/\s+/) : toList(value)
    const words = argv.filter((word) => typeof word === 'string')
    const [program = ''] = words
    const isWhole = words.length === argv.length && program !== ''
    return isWhole ? { op, program, argv: words, isChosen: true } : null
  }
  if (typeof value !== 'string' || value === '') return null
  switch (op) {
    case 'tool': {
      const [id = '', action = 'run'] = value.split(' ')
      const dot = id.indexOf('.')
      const of = dot < 0 ? {} : { of: { server: id.slice(0, dot), tool: id.slice(dot + 1) } }
      return { op, id, action, ...of }
    }
    case 'net': {
      const [first = '', second] = value.split(' ')
      return second === undefined ? { op, host: first, method: 'GET' } : { op, host: second, method: first }
    }
    case 'read':
    case 'write': {
      const match = expandPath(value, context)
      return match?.kind === 'under' ? { op, path: match.paths.join(''), isChosen: true } : null
    }
    case 'spawn':
      return { op, directive: value }
  }
}

function toList(value: JsonValue): readonly unknown[] {
  return Array.isArray(value) ? value : [null]
}
