import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath } from './expand-path.ts'
import type { Demand, Operation } from './rule.ts'

/** A call as an example of a rule writes it. */
export interface Example {
  readonly demand: Demand
  readonly parameters: JsonObject
}

/** What an example stands for, alone or as `{of, parameters}`; null when it is nothing of the rule's operation. */
export function exampleOf(op: Operation, example: JsonValue, context: PathContext): Example | null {
  const { of: value = example, parameters = {} } = isJsonObject(example) ? example : {}
  const demand =
    op === 'exec' ? execDemand(value) : typeof value === 'string' ? textDemand(op, value, context) : null
  return demand === null || !isJsonObject(parameters) ? null : { demand, parameters }
}

/** `git status`, or its words as a list. */
function execDemand(value: JsonValue): Demand | null {
  const words: readonly unknown[] =
    typeof value === 'string' ? value.trim().split(/\s+/) : Array.isArray(value) ? value : []
  const argv = words.filter((word) => typeof word === 'string')
  const [program = ''] = argv
  const isWhole = argv.length === words.length && program !== ''
  return isWhole ? { op: 'exec', program, argv, isChosen: true } : null
}

function textDemand(op: Exclude<Operation, 'exec'>, text: string, context: PathContext): Demand | null {
  switch (op) {
    case 'tool':
      return toolDemand(text)
    case 'net': {
      const [first = '', second] = text.split(' ')
      return second === undefined ? { op, host: first, method: 'GET' } : { op, host: second, method: first }
    }
    case 'read':
    case 'write': {
      const match = expandPath(text, context)
      return match?.kind === 'under' ? { op, path: match.paths.join(''), isChosen: true } : null
    }
    case 'spawn':
      return { op, directive: text }
  }
}

/** `deploy`, `github.merge`, `deploy delete`. */
function toolDemand(text: string): Demand {
  const [id = '', action = 'run'] = text.split(' ')
  const dot = id.indexOf('.')
  const of = dot < 0 ? {} : { of: { server: id.slice(0, dot), tool: id.slice(dot + 1) } }
  return { op: 'tool', id, action, ...of }
}
