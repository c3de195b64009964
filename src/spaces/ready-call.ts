import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { TYPE_RULES, itemTypeOf } from '../shared/tool-type.ts'
import { inputSchema } from './input-schema.ts'
import type { Manifest } from './manifest.ts'

/** The `execute` arguments that run an item, its parameters named and their values left to fill in; null when it is not run. */
export function readyCall(manifest: Manifest): JsonObject | null {
  if (!TYPE_RULES[manifest.tool_type].isRun) return null
  const { properties } = inputSchema(manifest)
  const examples = Object.entries(isObject(properties) ? properties : {}).map(
    ([name, schema]) => [name, exampleOf(schema)] as const,
  )
  const needed = new Set(requiredOf(manifest))
  const isAll = JSON.stringify(examples).length <= MOST_OF_ALL
  return {
    item_type: itemTypeOf(manifest.tool_type),
    action: 'run',
    item_id: manifest.tool_id,
    parameters: Object.fromEntries(isAll ? examples : examples.filter(([name]) => needed.has(name))),
  }
}

/** The parameters that must be given. */
export function requiredOf(manifest: Manifest): readonly string[] {
  const { required } = inputSchema(manifest)
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

function exampleOf(schema: unknown): JsonValue {
  if (!isObject(schema)) return '<any>'
  const { default: usual, enum: choices } = schema
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a schema is JSON
  if (usual !== undefined && isShort(usual)) return usual as JsonValue
  if (Array.isArray(choices) && isShort(choices)) return `<${choices.join('|')}>`
  return `<${typeof schema['type'] === 'string' ? schema['type'] : 'any'}>`
}

/** A call is shown in every search result, so a value in it must not outgrow the rest. */
function isShort(value: unknown): boolean {
  return JSON.stringify(value).length <= MOST_CHARACTERS
}

const MOST_CHARACTERS = 200
/** Beyond it only what must be given is named. */
const MOST_OF_ALL = 4000
