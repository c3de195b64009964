import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject, parsePlain } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { inputSchema } from '../../spaces/input-schema.ts'
import type { Item } from '../../spaces/item.ts'
import { requiredOf } from '../../spaces/ready-call.ts'

/** What a directive takes, as clients of prompts see it. */
export interface Input {
  readonly name: string
  readonly description: string
  readonly isRequired: boolean
  readonly type: string
  /** The values it may have; null when there are too many to name. */
  readonly values: readonly string[] | null
  readonly default?: JsonValue
}

export function inputsOf({ manifest }: Item): readonly Input[] {
  const { properties } = inputSchema(manifest)
  const required = new Set(requiredOf(manifest))
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, given]) => {
    const property = isJsonObject(given) ? given : {}
    const { type, enum: values, default: otherwise } = property
    return {
      name,
      description: textOf(property['description'] ?? ''),
      isRequired: required.has(name),
      type: typeof type === 'string' ? type : 'string',
      values: Array.isArray(values) ? values.map(textOf) : type === 'boolean' ? ['true', 'false'] : null,
      ...(otherwise === undefined ? {} : { default: otherwise }),
    }
  })
}

/** The values that a prompt was given: they come as texts, and mean what the directive says. */
export function readInputs(item: Item, given: Readonly<Record<string, string>>): JsonObject {
  const inputs = inputsOf(item)
  const known = inputs.map(({ name }) => name)
  // A client that shows a form sends what was left empty as an empty text.
  const isGiven = ({ name, isRequired, type }: Input): boolean =>
    Object.hasOwn(given, name) && (given[name] !== '' || (isRequired && type === 'string'))
  const missing = inputs.filter((input) => input.isRequired && input.default === undefined && !isGiven(input))
  const invalid = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name: name.slice(0, 128), reason: 'is no input of it' }))
  const values: [string, JsonValue][] = []
  for (const input of inputs.filter(isGiven)) {
    const text = given[input.name] ?? ''
    const value = valueOf(input, text)
    const isMeant = value !== undefined && (input.values === null || input.values.includes(textOf(value)))
    if (isMeant) values.push([input.name, value])
    else invalid.push({ name: input.name, reason: `must be ${meaningOf(input)}` })
  }
  if (missing.length === 0 && invalid.length === 0) return Object.fromEntries(values)
  const faults = [
    ...missing.map(({ name }) => `"${name}" is missing`),
    ...invalid.map(({ name, reason }) => `"${name}" ${reason}`),
  ]
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use "${item.id}" as a prompt: ${faults.join('; ')}`, {
    hint: known.length === 0 ? `"${item.id}" takes no inputs` : `"${item.id}" takes ${known.join(', ')}`,
    details: { missing: missing.map(({ name }) => name), invalid },
  })
}

/** Undefined for what is no value of its type. */
function valueOf({ type }: Input, text: string): JsonValue | undefined {
  if (type === 'string') return text
  const value = parsePlain(text)
  switch (type) {
    case 'number':
      return typeof value === 'number' ? value : undefined
    case 'integer':
      return Number.isSafeInteger(value) ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    case 'array':
      return Array.isArray(value) ? value : undefined
    case 'object':
      return isJsonObject(value) ? value : undefined
    default:
      return value ?? text
  }
}

function meaningOf({ type, values }: Input): string {
  if (values !== null) return `one of ${values.join(', ')}`
  const written: Readonly<Record<string, string>> = {
    array: 'a list in JSON',
    object: 'an object in JSON',
    number: 'a number',
    integer: 'a whole number',
  }
  return written[type] ?? 'a text'
}

/** With what the directive itself says for those that were left out. */
export function withDefaults(item: Item, values: JsonObject): JsonObject {
  const defaults = inputsOf(item).flatMap(({ name, default: otherwise }) =>
    otherwise === undefined ? [] : [[name, otherwise] as const],
  )
  return { ...Object.fromEntries(defaults), ...values }
}
