import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { ToolType } from '../shared/tool-type.ts'
import { TOOL_TYPES, TYPE_RULES } from '../shared/tool-type.ts'
import { containerConfig, isContainerCommand, normaliseConfig } from './normalise-config.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { LANGUAGES } from './source/languages.ts'

/** Where the id and category come from when the manifest does not say. */
export interface Origin {
  readonly stem: string | null
  readonly category: string | null
}

/** Each key of the normal form with the spellings it is read from, the first that is there. */
const SPELLINGS: readonly (readonly [string, readonly string[]])[] = [
  ['tool_id', ['tool_id', 'id', 'name']],
  ['executor', ['executor', 'executor_id']],
  ['config', ['config', 'executor_config']],
  ['secrets', ['secrets', 'required_secrets']],
]
const OTHER_SPELLINGS = new Set(['id', 'executor_id', 'executor_config', 'required_secrets'])

/** A manifest as an author wrote it, in one spelling and with defaults filled in; nothing is checked yet. */
export function normaliseManifest(
  raw: JsonObject,
  origin: Origin,
  knownKeys: ReadonlySet<string>,
): { value: Record<string, unknown>; warnings: string[] } {
  const given = spelledAlike(raw)
  const { tags = [], secrets = [], category = null, tool_id = origin.stem } = given
  const { type, executor: named } = typeOf(given, origin)
  const isServer = type === 'mcp_server' && given['tool_type'] === undefined
  const spelled = normaliseConfig(given, type)
  const isContainer = named === 'docker_runtime' && isContainerCommand(spelled)
  const config = isContainer ? containerConfig(spelled) : spelled
  const executor = isContainer ? 'docker_command_runtime' : named
  const value: Record<string, unknown> = {
    version: '0.0.0',
    description: '',
    locked: [],
    ...given,
    ...schemaOf(given, type),
    tool_id: isServer && !textOf(tool_id).startsWith('mcp_') ? `mcp_${textOf(tool_id)}` : tool_id,
    tool_type: type,
    executor,
    category: origin.category ?? category,
    tags: listOf(tags),
    secrets: listOf(secrets),
    config,
  }
  if (isObject(config) && typeof config['mutates_state'] === 'boolean') {
    value['mutates_state'] ??= config['mutates_state']
  }
  return { value, warnings: warningsOf(given, origin, knownKeys) }
}

function spelledAlike(raw: JsonObject): Record<string, unknown> {
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(raw).filter(([key]) => !OTHER_SPELLINGS.has(key)),
  )
  for (const [key, spellings] of SPELLINGS) {
    const found = spellings
      .map((spelling) => raw[spelling])
      .find((value) => value !== undefined && value !== null)
    if (found !== undefined) given[key] = found
  }
  return given
}

function warningsOf(
  given: Readonly<Record<string, unknown>>,
  origin: Origin,
  knownKeys: ReadonlySet<string>,
): string[] {
  const warnings: string[] = []
  if (given['version'] === undefined) warnings.push('"version" is missing: read as 0.0.0')
  if (given['description'] === undefined)
    warnings.push('"description" is missing: search will hardly find it')
  const { category } = given
  if (typeof category === 'string' && origin.category !== null && category !== origin.category) {
    warnings.push(`"category" says "${category}", but its folder is "${origin.category}", which counts`)
  }
  const declared = declaredKeys(given)
  for (const key of Object.keys(given)) {
    if (!knownKeys.has(key) && !key.startsWith('_') && !declared.has(key)) {
      warnings.push(`"${key}" is not a key Kiwi knows: kept, without effect`)
    }
  }
  return warnings
}

/** A piece of knowledge may say itself which further keys it has. */
function declaredKeys({ tool_type: type, schema }: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const properties = type === 'knowledge' && isObject(schema) ? schema['properties'] : undefined
  return new Set(isObject(properties) ? Object.keys(properties) : [])
}

interface Meant {
  readonly type: ToolType
  readonly executor: string | null
}

/** What an author may write for a type, and the type and runtime it stands for. */
const TYPE_ALIASES: ReadonlyMap<string, Meant> = new Map<string, Meant>([
  ...LANGUAGES.map(({ type, executor }): [string, Meant] => [type, { type: 'script', executor }]),
  ['docker', { type: 'script', executor: 'docker_runtime' }],
  ['mcp', { type: 'mcp_tool', executor: null }],
])

/** The canonical type, and the executor that is named or follows from the type. */
function typeOf(
  given: Readonly<Record<string, unknown>>,
  origin: Origin,
): { type: unknown; executor: unknown } {
  const { config } = given
  const named = typeof given['executor'] === 'string' ? executorNamed(given['executor']) : given['executor']
  // Another system runs the tools of a server through a runtime of its own: here the server itself is what they stand on.
  if (
    isObject(config) &&
    typeof config['server'] === 'string' &&
    FOREIGN_HOP.test(textOf(given['executor']))
  ) {
    return { type: 'mcp_tool', executor: `mcp_${config['server']}` }
  }
  if (given['tool_type'] === undefined && isServerFile(origin, config)) {
    return { type: 'mcp_server', executor: named ?? ('url' in config ? 'http_client' : 'subprocess') }
  }
  const alias = TYPE_ALIASES.get(textOf(given['tool_type']))
  const type = alias?.type ?? given['tool_type']
  return { type, executor: named ?? alias?.executor ?? impliedExecutor(type, config) }
}

const FOREIGN_HOP = /(?:^|[/_])(?:http|stdio)(?:_runtime)?$/

/** `mcp/servers/NAME.yaml`, as another system keeps its servers. */
export function isServerFile({ category }: Origin, config: unknown): config is Record<string, unknown> {
  return (
    /(?:^|\/)mcp\/servers$/.test(category ?? '') &&
    isObject(config) &&
    typeof config['transport'] === 'string'
  )
}

/** Words in the path ids of another system, and our executor of that name. */
const FOREIGN_EXECUTORS: readonly (readonly [RegExp, string])[] = [
  [/subprocess/, 'subprocess'],
  [/http_client/, 'http_client'],
  [/python/, 'python_runtime'],
  [/bash|shell/, 'bash_runtime'],
  [/deno|typescript/, 'deno_runtime'],
  [/node|javascript/, 'node_runtime'],
  [/docker/, 'docker_runtime'],
]

function executorNamed(name: string): string {
  if (!/^(?:tool:)?(?:rye|ryeos)\//.test(name)) return name
  return FOREIGN_EXECUTORS.find(([word]) => word.test(name))?.[1] ?? name
}

function impliedExecutor(type: unknown, config: unknown): string | null {
  const rule = TOOL_TYPES.find((known) => known === type)
  const executor = rule === undefined ? null : TYPE_RULES[rule].executor
  if (executor !== null && 'id' in executor) return executor.id
  if (rule === 'mcp_tool' && isObject(config) && typeof config['mcp_server'] === 'string') {
    return `mcp_${config['mcp_server']}`
  }
  return null
}

/** A list, or one text with commas. */
function listOf(given: unknown): unknown {
  return typeof given === 'string' ? given.split(',').map((each) => each.trim()) : given
}

/** Types whose own `config_schema` is about what a caller gives. */
const CALLED: ReadonlySet<unknown> = new Set(['script', 'api', 'mcp_tool'])

/** Parameters as a list, as properties of JSON Schema, or as a whole schema, wherever they are written. */
function schemaOf(given: Readonly<Record<string, unknown>>, type: unknown): Record<string, unknown> {
  const { parameters, input_schema, config_schema } = given
  if (
    parameters === undefined &&
    input_schema === undefined &&
    isWholeSchema(config_schema) &&
    CALLED.has(type)
  ) {
    return { parameters: [], input_schema: config_schema, config_schema: undefined }
  }
  if (!isObject(parameters)) return { parameters: parameters ?? [] }
  if (isWholeSchema(parameters)) return { parameters: [], input_schema: input_schema ?? parameters }
  const entries = Object.entries(parameters)
  if (entries.every(([, schema]) => isPlainProperty(schema))) {
    return {
      parameters: entries.map(([name, schema]) => ({ ...(isObject(schema) ? schema : {}), name })),
    }
  }
  return {
    parameters: [],
    input_schema: input_schema ?? { type: 'object', properties: parameters, additionalProperties: false },
  }
}

function isWholeSchema(given: unknown): given is Record<string, unknown> {
  return (
    isObject(given) && given['type'] === 'object' && (isObject(given['properties']) || '$schema' in given)
  )
}

/** Whether a property can stand in a list of parameters. */
function isPlainProperty(schema: unknown): boolean {
  if (!isObject(schema)) return true
  const { type, required } = schema
  const isPlain = type === undefined || PARAMETER_TYPES.some((known) => known === type)
  return isPlain && !Array.isArray(required)
}
