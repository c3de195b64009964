import { parse as parseVersion } from 'semver'
import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import type { FieldFault } from '../shared/field-faults.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { Category, ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { deepFreeze, isObject, isUnsafeKey } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { ToolType } from '../shared/tool-type.ts'
import { TOOL_TYPES, TYPE_RULES } from '../shared/tool-type.ts'

const Json: z.ZodType<JsonObject> = z.record(z.string(), z.json())

export const PARAMETER_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'any'] as const

const Parameter = z.looseObject({
  name: z
    .string()
    .min(1)
    .max(128)
    .refine((name) => !isUnsafeKey(name), 'not allowed as a name'),
  type: z.enum(PARAMETER_TYPES).default('string'),
  required: z.boolean().default(false),
  default: z.json().optional(),
  enum: z.array(z.json()).min(1).optional(),
  description: z.string().optional(),
})
export type Parameter = z.infer<typeof Parameter>

/** The declaration of an item in its normal form: one spelling for every key, defaults filled in. */
const ManifestShape = z.looseObject({
  tool_id: ItemName,
  tool_type: z.enum(TOOL_TYPES),
  executor: ItemName.nullable(),
  version: z.string().refine(isVersion, 'not a semantic version such as 1.0.0'),
  description: z.string(),
  category: Category.nullable(),
  tags: z.array(z.string().min(1).max(64)).max(64),
  config: Json,
  parameters: z.array(Parameter).max(256),
  input_schema: Json.optional(),
  outputs: Json.optional(),
  validation: Json.optional(),
  capabilities: z.array(z.string()).optional(),
  config_schema: Json.optional(),
  mutates_state: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  enabled: z.boolean().optional(),
  files: z.union([z.array(z.string()), Json]).optional(),
  secrets: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)),
  sandbox: Json.optional(),
  locked: z.array(z.string().min(1)),
  rollback: Json.optional(),
})
export type Manifest = Readonly<z.infer<typeof ManifestShape>>

/** The package also reads `v1.0.0` and blanks around it, and leaves the build out of what it calls the version. */
function isVersion(text: string): boolean {
  const read = parseVersion(text)
  return (
    read !== null &&
    [read.version, ...(read.build.length > 0 ? [read.build.join('.')] : [])].join('+') === text
  )
}

const KNOWN_KEYS = new Set([...Object.keys(ManifestShape.shape), 'name', 'title'])

/** What an author may write for a type, and the type and runtime it stands for. */
const TYPE_ALIASES: ReadonlyMap<string, { type: ToolType; executor: string | null }> = new Map([
  ['python', { type: 'script', executor: 'python_runtime' }],
  ['bash', { type: 'script', executor: 'bash_runtime' }],
  ['node', { type: 'script', executor: 'node_runtime' }],
  ['docker', { type: 'script', executor: 'docker_runtime' }],
  ['mcp', { type: 'mcp_tool', executor: null }],
])

/** Where the id and category come from when the manifest does not say. */
export interface Origin {
  readonly stem: string | null
  readonly category: string | null
}

/** Reads a manifest as an author wrote it. Every wrong field is named at once; unknown keys are kept and reported. */
export function readManifest(
  raw: JsonObject,
  origin: Origin,
): { manifest: Manifest; warnings: readonly string[] } {
  const { value, warnings } = normalise(raw, origin)
  const parsed = ManifestShape.safeParse(value, IN_WORDS)
  if (!parsed.success)
    throw invalidManifest(textOf(value['tool_id'] ?? 'item'), fieldFaults(parsed.error.issues))
  const manifest = parsed.data
  const twice = parametersTwice(manifest)
  if (twice.length > 0) throw invalidManifest(manifest.tool_id, twice)
  return { manifest: deepFreeze(manifest), warnings }
}

export function invalidManifest(id: string, invalid: readonly FieldFault[]): KiwiError {
  const faults = invalid.map(({ name, reason }) => `"${name}": ${reason}`).join('; ')
  return new KiwiError('INVALID_MANIFEST', `Cannot use the manifest of "${id}": ${faults}`, {
    details: { invalid },
  })
}

/** Each key of the normal form with the spellings it is read from, the first that is there. */
const SPELLINGS: readonly (readonly [string, readonly string[]])[] = [
  ['tool_id', ['tool_id', 'id', 'name']],
  ['executor', ['executor', 'executor_id']],
  ['config', ['config', 'executor_config']],
  ['secrets', ['secrets', 'required_secrets']],
]
const OTHER_SPELLINGS = new Set(['id', 'executor_id', 'executor_config', 'required_secrets'])

function normalise(raw: JsonObject, origin: Origin): { value: Record<string, unknown>; warnings: string[] } {
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(raw).filter(([key]) => !OTHER_SPELLINGS.has(key)),
  )
  for (const [key, spellings] of SPELLINGS) {
    const found = spellings
      .map((spelling) => raw[spelling])
      .find((value) => value !== undefined && value !== null)
    if (found !== undefined) given[key] = found
  }
  const { config = {}, tags = [], parameters = [], category = null } = given
  const { type, executor } = typeOf(given, config)
  const settings = normaliseConfig(config, type)
  const value: Record<string, unknown> = {
    version: '0.0.0',
    description: '',
    secrets: [],
    locked: [],
    ...given,
    tool_id: given['tool_id'] ?? origin.stem,
    tool_type: type,
    executor,
    category: origin.category ?? category,
    tags: tagsOf(tags),
    config: settings,
    parameters: parametersOf(parameters),
  }
  if (isObject(settings) && typeof settings['mutates_state'] === 'boolean') {
    value['mutates_state'] ??= settings['mutates_state']
  }
  return { value, warnings: warningsOf(given) }
}

function warningsOf(given: Readonly<Record<string, unknown>>): string[] {
  const warnings: string[] = []
  if (given['version'] === undefined) warnings.push('"version" is missing: read as 0.0.0')
  if (given['description'] === undefined)
    warnings.push('"description" is missing: search will hardly find it')
  for (const key of Object.keys(given)) {
    if (!KNOWN_KEYS.has(key) && !key.startsWith('_')) {
      warnings.push(`"${key}" is not a key Kiwi knows: kept, without effect`)
    }
  }
  return warnings
}

/** The canonical type, and the executor that is named or follows from the type. */
function typeOf(
  given: Readonly<Record<string, unknown>>,
  config: unknown,
): { type: unknown; executor: unknown } {
  const alias = TYPE_ALIASES.get(textOf(given['tool_type']))
  const type = alias?.type ?? given['tool_type']
  return { type, executor: given['executor'] ?? alias?.executor ?? impliedExecutor(type, config) }
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

/** Old and foreign spellings of config keys with the one Kiwi uses, and the type of tool they were written for. */
const CONFIG_ALIASES: readonly (readonly [string, string, ToolType])[] = [
  ['timeout_default', 'timeout', 'runtime'],
  ['shell', 'command', 'runtime'],
  ['response_path', 'response_transform', 'api'],
  ['mcp_tool', 'mcp_tool_name', 'mcp_tool'],
  ['tool_name', 'mcp_tool_name', 'mcp_tool'],
]

function normaliseConfig(given: unknown, toolType: unknown): unknown {
  if (!isObject(given)) return given
  const config: Record<string, unknown> = { ...given }
  for (const [alias, key, type] of CONFIG_ALIASES) {
    if (type !== toolType || !(alias in config)) continue
    if (!(key in config)) config[key] = config[alias]
    delete config[alias]
  }
  const { retry } = config
  if (isObject(retry)) {
    delete config['retry']
    if (typeof retry['max_attempts'] === 'number') config['retries'] ??= retry['max_attempts'] - 1
    if (typeof retry['backoff'] === 'number') config['retry_delay'] ??= retry['backoff']
  }
  return config
}

/** A list, or one text with commas. */
function tagsOf(tags: unknown): unknown {
  return typeof tags === 'string' ? tags.split(',').map((tag) => tag.trim()) : tags
}

/** A list as the manifest form has it, or an object of JSON Schema properties. */
function parametersOf(given: unknown): unknown {
  if (!isObject(given)) return given
  return Object.entries(given).map(([name, schema]) => ({ ...(isObject(schema) ? schema : {}), name }))
}

/** Whether the executor is one that this type of tool can have, as far as the manifest alone can tell. */
export function checkExecutor({ tool_type, executor }: Manifest): readonly FieldFault[] {
  const needed = TYPE_RULES[tool_type].executor
  if (needed === null) {
    return executor === null ? [] : [{ name: 'executor', reason: `type ${tool_type} has none; remove it` }]
  }
  const wanted = 'id' in needed ? `"${needed.id}"` : `one of type ${needed.type}`
  if (executor === null) return [{ name: 'executor', reason: `missing; type ${tool_type} needs ${wanted}` }]
  if ('id' in needed && executor !== needed.id) {
    return [{ name: 'executor', reason: `"${executor}" is not ${wanted}, which type ${tool_type} needs` }]
  }
  return []
}

function parametersTwice({ parameters }: Manifest): readonly FieldFault[] {
  const names = parameters.map(({ name }) => name)
  return names
    .filter((name, at) => names.indexOf(name) !== at)
    .map((name) => ({ name: `parameters.${name}`, reason: 'declared twice' }))
}
