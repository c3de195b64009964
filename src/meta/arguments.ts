import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { assertPlain, isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { ITEM_TYPES, TOOL_TYPES } from '../shared/tool-type.ts'
import { SPACES } from '../store/store.ts'

/** What scripts are written in. */
export const LANGUAGES = ['python', 'bash', 'node', 'deno', 'docker'] as const

const text = z.string().max(4096)
const id = z.string().min(1).max(512)
const optionalText = text.optional()

/** The arguments of the four tools. The wire schemas in `tools.ts` say the same in the form clients read. */
const ARGUMENTS = {
  search: z.strictObject({
    query: text,
    item_type: optionalText,
    source: z.enum(['project', 'user', 'registry', 'mcp', 'local', 'builtin', 'all']).default('all'),
    limit: z.int().min(1).max(100).default(10),
    tool_type: z.enum([...TOOL_TYPES, 'mcp', ...LANGUAGES]).optional(),
    category: optionalText,
    tags: z.array(z.string().min(1).max(64)).max(16).default([]),
    server: z.string().min(1).max(128).optional(),
    sort_by: z.enum(['score', 'name', 'updated', 'downloads']).default('score'),
    project_path: optionalText,
  }),
  load: z.strictObject({
    item_type: text,
    item_id: id,
    source: z.enum(SPACES).optional(),
    destination: z.enum(['project', 'user']).optional(),
    version: optionalText,
    overwrite: z.boolean().default(false),
    /** Steps that relations are followed. */
    depth: z.int().min(0).max(3).default(0),
    path: z.string().min(1).max(1024).optional(),
    offset: z.int().min(0).default(0),
    limit: z
      .int()
      .min(1)
      .max(LIMITS.resultBytes)
      .default(LIMITS.resultBytes / 2),
    project_path: optionalText,
  }),
  execute: z.strictObject({
    item_type: text,
    action: text,
    item_id: id.optional(),
    // That it is JSON all the way down is seen before.
    parameters: z.record(z.string(), z.unknown()).default({}),
    version: optionalText,
    run_id: z.string().min(1).max(64).optional(),
    dry_run: z.boolean().default(false),
    project_path: optionalText,
  }),
  help: z.strictObject({
    topic: optionalText,
    error_code: optionalText,
    item_id: id.optional(),
    project_path: optionalText,
  }),
} as const

export type MetaTool = keyof typeof ARGUMENTS
export type Arguments<T extends MetaTool> = z.infer<(typeof ARGUMENTS)[T]>

export const META_TOOLS: readonly MetaTool[] = ['search', 'load', 'execute', 'help']

/** Names of the arguments of a tool, for the wire schema to be held against. */
export function argumentNames(tool: MetaTool): readonly string[] {
  return Object.keys(ARGUMENTS[tool].shape)
}

/** Bounds what came in, then reads it. Every unknown, missing or wrong argument is named. */
export function readArguments<T extends MetaTool>(tool: T, given: unknown): Arguments<T> {
  assertPlain(given, `the arguments of ${tool}`)
  const size = Buffer.byteLength(JSON.stringify(given ?? {}))
  if (size > LIMITS.requestBytes) {
    throw new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot read the arguments of ${tool}: ${size} bytes are more than ${LIMITS.requestBytes}`,
    )
  }
  const schema = ARGUMENTS[tool]
  const asked = withoutBlanks(tool, given ?? {})
  const parsed = schema.safeParse(asked)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of this very tool parsed it
  if (parsed.success) return parsed.data as Arguments<T>
  // Only now: with words of its own a schema reads ten times as slowly.
  throw wrongArguments(tool, schema.safeParse(asked, IN_WORDS).error?.issues ?? [])
}

/** What need not be given, by the names of each tool. */
const OPTIONAL = new Map(
  Object.entries(ARGUMENTS).map(([tool, { shape }]) => [
    tool,
    new Set(Object.entries(shape).flatMap(([name, schema]) => (schema.isOptional() ? [name] : []))),
  ]),
)

/** Models that fill in every argument leave those they do not mean empty. */
function withoutBlanks(tool: MetaTool, given: unknown): unknown {
  const optional = OPTIONAL.get(tool)
  const isBlank = (name: string, value: unknown): boolean =>
    (value === null || value === '') && optional?.has(name) === true
  if (!isObject(given) || !Object.entries(given).some(([name, value]) => isBlank(name, value))) return given
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => !isBlank(name, value)))
}

function wrongArguments(tool: MetaTool, issues: readonly z.core.$ZodIssue[]): KiwiError {
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []))
  const known = argumentNames(tool).join(', ')
  if (unknown.length > 0) {
    return new KiwiError(
      'UNKNOWN_ARGUMENT',
      `Cannot call ${tool}: it has no argument ${unknown.map((key) => `"${key}"`).join(', ')}`,
      {
        hint: `${tool} takes ${known}${tool === 'execute' ? '; what the tool itself takes goes into parameters' : ''}`,
        details: { unknown, known: argumentNames(tool) },
      },
    )
  }
  const missing = issues.filter(isMissing).map(({ path }) => path.join('.'))
  const invalid = fieldFaults(issues.filter((issue) => !isMissing(issue)))
  const faults = fieldFaults(issues).map(({ name, reason }) => `"${name}" ${reason}`)
  return new KiwiError('INVALID_PARAMETERS', `Cannot call ${tool}: ${faults.join('; ')}`, {
    hint: `${tool} takes ${known}`,
    details: { missing, invalid },
  })
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'invalid_type' && issue.input === undefined
}

/** `script` and `mcp_tool` are other words for a tool. */
const ALIASES: ReadonlyMap<string, ItemType> = new Map([
  ['script', 'tool'],
  ['mcp_tool', 'tool'],
])

export function readItemType(given: string): ItemType {
  const type = ITEM_TYPES.find((known) => known === given) ?? ALIASES.get(given)
  if (type !== undefined) return type
  throw new KiwiError(
    'UNKNOWN_ITEM_TYPE',
    `Cannot use item_type "${given.slice(0, 64)}": it is none of ${ITEM_TYPES.join(', ')}`,
    {
      details: { supported: ITEM_TYPES },
    },
  )
}

export function objectOf(value: Record<string, unknown>): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it was seen to be plain JSON
  return value as JsonObject
}
