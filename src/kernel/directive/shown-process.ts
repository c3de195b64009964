import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Directive, Step, ToolCall } from '../../spaces/directive/model.ts'
import { fillPlaceholders, fillValue } from '../../spaces/directive/placeholders.ts'
import { fileOperation } from '../policy/groups.ts'
import { convertParameters } from './convert-text.ts'

interface Filling {
  readonly inputs: JsonObject
  /** Of each tool it may call. */
  readonly schemas: ReadonlyMap<string, JsonObject>
  /** Names its calls may give to servers. */
  readonly aliases: Readonly<Record<string, string>>
}

/** The steps with their inputs filled in, and each call as it is to be made. */
export function shownProcess({ steps, body }: Directive, filling: Filling): readonly JsonObject[] {
  if (steps.length > 0) return steps.map((step) => shownStep(step, filling))
  return body.trim() === '' ? [] : [{ action: fillPlaceholders(body, filling.inputs) }]
}

function shownStep({ name, condition, description, action, calls }: Step, filling: Filling): JsonObject {
  const text = (value: string | null): string | null =>
    value === null ? null : fillPlaceholders(value, filling.inputs)
  return {
    name,
    ...(condition === null ? {} : { condition: text(condition) }),
    ...(description === null ? {} : { description: text(description) }),
    ...(action === null ? {} : { action: text(action) }),
    ...(calls.length === 0 ? {} : { calls: calls.map((call) => shownCall(call, filling)) }),
  }
}

/** Values are written as text; where the schema of the tool leaves no doubt they are what it asks for. */
function shownCall({ tool, parameters }: ToolCall, { inputs, schemas, aliases }: Filling): JsonObject {
  const filled = fillValue(parameters, inputs)
  const given = isJsonObject(filled) ? filled : {}
  const convert = (name: string, values: JsonObject): JsonObject => {
    const schema = schemas.get(realName(name, aliases))
    return schema === undefined ? values : convertParameters(values, schema)
  }
  if (tool !== 'kiwi.execute') return { tool: calledName(tool), parameters: convert(calledName(tool), given) }
  const { item_id: id, parameters: inner } = given
  const isRun = typeof id === 'string' && isJsonObject(inner)
  return { tool, parameters: isRun ? { ...given, parameters: convert(id, inner) } : given }
}

/** The id of the tool that a call runs; null for what is no run of a tool, or not known before. */
export function calledId({ tool, parameters }: ToolCall, aliases: Filling['aliases']): string | null {
  const { item_type: type, action, item_id: id } = parameters
  const isRun = type === 'tool' && action === 'run' && typeof id === 'string'
  const name = tool === 'kiwi.execute' ? (isRun ? id : null) : calledName(tool)
  if (name === null || name.startsWith('kiwi.') || /[{}]/.test(name)) return null
  return realName(name, aliases)
}

/** Other servers have other names for what is done with files. */
function calledName(tool: string): string {
  const [group, operation] = tool.split('.', 2)
  return group === 'filesystem' && operation !== undefined ? `filesystem.${fileOperation(operation)}` : tool
}

/** The id behind a name that only this run knows. */
function realName(tool: string, aliases: Readonly<Record<string, string>>): string {
  const dot = tool.indexOf('.')
  const alias = tool.slice(0, Math.max(0, dot))
  const server = Object.hasOwn(aliases, alias) ? aliases[alias] : undefined
  return server === undefined ? tool : `${server}${tool.slice(dot)}`
}
