import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { PARAMETER_TYPES } from '../parameter-types.ts'

/** What a source says about the tool it is; what is not there was not said. */
export interface Declared {
  readonly version?: JsonValue
  readonly tool_type?: JsonValue
  readonly executor?: JsonValue
  readonly category?: JsonValue
  readonly description?: string
  readonly mutates_state?: JsonValue
  readonly config: JsonObject
  /** `parameters` or `input_schema`; null when nothing tells which there are. */
  readonly schema: JsonObject | null
  /** Further keys of the manifest. */
  readonly more: JsonObject
  /** All that the author wrote for readers. */
  readonly documentation: string
  readonly warnings: readonly string[]
}

/** Names under which types are known in other languages. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...PARAMETER_TYPES.map((type) => [type, type] as const),
  ['str', 'string'],
  ['text', 'string'],
  ['path', 'string'],
  ['int', 'integer'],
  ['float', 'number'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['tuple', 'array'],
  ['dict', 'object'],
])

/** The type a word stands for; what is not known may be anything. */
export function typeOf(word: string): string {
  return TYPES.get(word.trim().toLowerCase()) ?? 'any'
}

/** A schema in any of its forms: JSON Schema, a list of parameters, or one description to each name. Null when it is none. */
export function readSchema(given: JsonValue): JsonObject | null {
  if (Array.isArray(given)) {
    const parameters: readonly JsonValue[] = given
    return parameters.every((each) => isJsonObject(each) && typeof each['name'] === 'string')
      ? { parameters: parameters.filter(isJsonObject).map((each) => ({ ...each, ...typeIn(each) })) }
      : null
  }
  if (!isJsonObject(given)) return null
  if (isJsonSchema(given)) return { input_schema: given }
  const entries = Object.entries(given)
  if (!entries.every(([, each]) => isJsonObject(each) || typeof each === 'string')) return null
  return {
    parameters: entries.map(([name, each]) =>
      isJsonObject(each) ? { name, ...each, ...typeIn(each) } : { name, type: typeOf(textOf(each)) },
    ),
  }
}

function isJsonSchema(given: JsonObject): boolean {
  return given['type'] === 'object' || isJsonObject(given['properties']) || '$schema' in given
}

function typeIn({ type }: JsonObject): JsonObject {
  return typeof type === 'string' ? { type: typeOf(type) } : {}
}

/** `name (type, required): text`, as people write it into comments; null for any other line. */
export function readParameterLine(line: string): JsonObject | null {
  const [, name, inside, description] = /^[-*]?\s*`?(\w[\w-]*)`?\s*\(([^()]*)\)\s*:\s*(.*)$/.exec(line) ?? []
  if (name === undefined || inside === undefined) return null
  const [type = 'any', ...words] = inside.split(',').map((word) => word.trim())
  return {
    name,
    type: typeOf(type),
    required: words.includes('required'),
    ...(description === undefined || description === '' ? {} : { description }),
  }
}

/** A key that is there only when there is something to say. */
export function keyOf(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value }
}

/** What the constants of a module say beside its metadata; the same names in every language that has them. */
export function readConstants(constants: JsonObject, style: JsonObject): ConstantsRead {
  const { CONFIG, CONFIG_SCHEMA, ENV_CONFIG, VALIDATION, requires, mutates_state } = constants
  const config = isJsonObject(CONFIG) ? CONFIG : {}
  const schema = CONFIG_SCHEMA === undefined ? null : readSchema(CONFIG_SCHEMA)
  return {
    ...keyOf('mutates_state', mutates_state ?? config['mutates_state']),
    config: { ...style, ...keyOf('requires', requires), ...config },
    schema,
    more: {
      ...keyOf('env_config', isJsonObject(ENV_CONFIG) ? ENV_CONFIG : undefined),
      ...keyOf('validation', isJsonObject(VALIDATION) ? VALIDATION : undefined),
    },
    warnings:
      schema === null && CONFIG_SCHEMA !== undefined
        ? ['CONFIG_SCHEMA has none of the forms a schema can have']
        : [],
  }
}

type ConstantsRead = Pick<Declared, 'mutates_state' | 'config' | 'schema' | 'more' | 'warnings'>

/** Constants that tell something, in every language that has constants. */
export const CONSTANT_NAMES =
  '__version__|__tool_type__|__executor_id__|__category__|__tool_description__|CONFIG|CONFIG_SCHEMA|ENV_CONFIG|VALIDATION|requires|mutates_state'

/** `__version__` and the like; null says nothing. */
export function metadataOf(constants: JsonObject): Partial<Declared> {
  const found: Record<string, JsonValue> = {}
  for (const [name, key] of METADATA) {
    const value = constants[`__${name}__`]
    if (value !== undefined && value !== null) found[key] = value
  }
  return found
}

const METADATA = [
  ['version', 'version'],
  ['tool_type', 'tool_type'],
  ['executor_id', 'executor'],
  ['category', 'category'],
] as const

/** Anything goes: the source does not tell what it takes. */
export const OPEN_SCHEMA: JsonObject = { input_schema: { type: 'object', additionalProperties: true } }
