import { isMetaTool } from '../../shared/groups.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Directive, Step, ToolCall } from '../../spaces/directive/model.ts'
import { fillPlaceholders, fillValue } from '../../spaces/directive/placeholders.ts'
import { fileOperation } from '../policy/groups.ts'
import { convertParameters } from './convert-text.ts'

interface Filling {
  readonly inputs: JsonObject
  /** The names of all inputs, given or not. */
  readonly declared: readonly string[]
  /** Of each tool it may call. */
  readonly schemas: ReadonlyMap<string, JsonObject>
  /** Names its calls may give to servers. */
  readonly aliases: Readonly<Record<string, string>>
}

/** The steps with their inputs filled in, and each call as it is to be made. */
export function shownProcess({ steps, body }: Directive, filling: Filling): readonly JsonObject[] {
  if (steps.length > 0) return steps.map((step) => shownStep(step, filling))
  return body.trim() === '' ? [] : [{ action: fillPlaceholders(body, filling.inputs, filling.declared) }]
}

function shownStep({ name, condition, description, action, calls }: Step, filling: Filling): JsonObject {
  const text = (value: string | null): string | null =>
    value === null ? null : fillPlaceholders(value, filling.inputs, filling.declared)
  return {
    name,
    ...(condition === null ? {} : { condition: text(condition) }),
    ...(description === null ? {} : { description: text(description) }),
    ...(action === null ? {} : { action: text(action) }),
    ...(calls.length === 0 ? {} : { calls: calls.map((call) => shownCall(call, filling)) }),
  }
}

/** Values are written as text; where the schema of the tool leaves no doubt they are what it asks for. */
function shownCall({ tool, parameters }: ToolCall, filling: Filling): JsonObject {
  const { inputs, declared, schemas, aliases } = filling
  const name = calledName(fillPlaceholders(tool, inputs, declared))
  const filled = fillValue(parameters, inputs, declared)
  const given = isJsonObject(filled) ? filled : {}
  const schema = isMetaTool(name) ? OWN_ARGUMENTS : schemas.get(realName(name, aliases))
  return { tool: name, parameters: schema === undefined ? given : convertParameters(given, schema) }
}

/** Arguments of Kiwi's own tools that are no texts. */
const OWN_ARGUMENTS: JsonObject = {
  properties: {
    limit: { type: 'integer' },
    offset: { type: 'integer' },
    depth: { type: 'integer' },
    overwrite: { type: 'boolean' },
    dry_run: { type: 'boolean' },
    tags: { type: 'array' },
    parameters: { type: 'object' },
  },
}

/** The id of the tool that a call runs; null for a tool of Kiwi itself, and for what is not known before. */
export function calledId({ tool }: Pick<ToolCall, 'tool'>, aliases: Filling['aliases']): string | null {
  return isMetaTool(tool) || /[{}]/.test(tool) ? null : realName(calledName(tool), aliases)
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
