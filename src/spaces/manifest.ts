import { parse as parseVersion } from 'semver'
import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import type { FieldFault } from '../shared/field-faults.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { Category, ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { deepFreeze, isUnsafeKey } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { TOOL_TYPES, TYPE_RULES } from '../shared/tool-type.ts'
import type { Origin } from './normalise-manifest.ts'
import { normaliseManifest } from './normalise-manifest.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'

const Json: z.ZodType<JsonObject> = z.record(z.string(), z.json())

export const Parameter = z.looseObject({
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
  // YAML takes 1.0 for a number.
  version: z
    .string({
      error: ({ input }) =>
        input === undefined ? 'is missing' : 'must be a text such as "1.0.0", in quotes',
    })
    .refine(isVersion, 'not a semantic version such as 1.0.0'),
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
  /**
   * The call that takes one of its own back: templates over the parameters and `{output}`, `{output.id}`. `none`: what it does
   * is done, whatever is kept of files.
   */
  rollback: z
    .union([z.literal('none'), z.strictObject({ tool: ItemName, parameters: Json.default({}) })])
    .optional(),
  /** Which paths a call touches: templates over its parameters, below the project when they are relative. */
  paths: z
    .strictObject({
      read: z.array(z.string().min(1)).default([]),
      write: z.array(z.string().min(1)).default([]),
      /** The text that the one written path will hold. */
      content: z.string().min(1).optional(),
      /** What is removed or renamed is a link itself, not what it leads to; of a folder, all that is below. */
      keeps_links: z.boolean().optional(),
      /** The key of the result whose entries name what was found below the path that is read. */
      found: z.string().min(1).optional(),
    })
    .optional(),
})
export type Manifest = Readonly<z.infer<typeof ManifestShape>>

/** The package also reads `v1.0.0` and blanks around it, and leaves the build out of what it calls the version. */
export function isVersion(text: string): boolean {
  const read = parseVersion(text)
  return (
    read !== null &&
    [read.version, ...(read.build.length > 0 ? [read.build.join('.')] : [])].join('+') === text
  )
}

/** Keys that are kept as they are: names for people, what documents say of themselves, what another system uses. */
const KEPT_KEYS =
  'name title author created_at references extends schema anchor verify_deps required_caps cache env_config'
const KNOWN_KEYS = new Set([...Object.keys(ManifestShape.shape), ...KEPT_KEYS.split(' ')])

/** What an author wrote beside the keys that Kiwi knows. */
export function extraKeys(manifest: Manifest): JsonObject {
  const extra = Object.entries(manifest).filter(([key]) => !KNOWN_KEYS.has(key) && !key.startsWith('_'))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the manifest was read from JSON
  return Object.fromEntries(extra) as JsonObject
}

/** Reads a manifest as an author wrote it. Every wrong field is named at once; unknown keys are kept and reported. */
export function readManifest(
  raw: JsonObject,
  origin: Origin,
): { manifest: Manifest; warnings: readonly string[] } {
  const { value, warnings } = normaliseManifest(raw, origin, KNOWN_KEYS)
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
