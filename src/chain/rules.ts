import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { sha256 } from '../shared/json.ts'
import type { ToolType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'

/** What an item's files have to look like, as the manifests of its chain say. */
export interface RuleSet {
  readonly rules: readonly Rule[]
  /** What the result of the rules depends on: everything in the chain, since rules and entrypoint may come from any link. */
  readonly key: string
  /** Rules of a type nobody here knows. */
  readonly warnings: readonly string[]
}

/** `tool` is the link that says it. */
export type Rule = SyntaxCheck | PatternCheck | ShebangRequired | ChildSchema

export interface SyntaxCheck {
  readonly type: 'syntax_check'
  readonly tool: string
  /** A program and its arguments; `{entrypoint}` is the file that is checked. */
  readonly command: readonly string[]
  /** Names of the files it is for; null = those with the ending of the entrypoint. */
  readonly files: string | null
}

export interface PatternCheck {
  readonly type: 'pattern_check'
  readonly tool: string
  readonly patterns: readonly Pattern[]
  readonly isBlocking: boolean
}

interface ShebangRequired {
  readonly type: 'shebang_required'
  readonly tool: string
  readonly pattern: Pattern
}

/** A schema for the manifest of what names `tool` as its executor. */
interface ChildSchema {
  readonly type: 'child_schema'
  readonly tool: string
  readonly child: Pick<Item, 'id' | 'manifest'>
  readonly schema: JsonObject
}

/** A text that is looked for as it is, or an expression that is matched in linear time. */
export interface Pattern {
  readonly source: string
  readonly isExpression: boolean
  /** What people call it, for one that is hard to read. */
  readonly name: string
}

const Json: z.ZodType<JsonObject> = z.record(z.string(), z.json())
const Text = z.string().min(1)
const PatternShape = z.union([
  Text,
  z.strictObject({ literal: Text, name: Text.optional() }),
  z.strictObject({ regex: Text, name: Text.optional() }),
])
const Severity = { block: z.boolean().optional(), warn_only: z.boolean().optional() }
const RuleShape = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('syntax_check'),
    command: z.union([Text, z.array(Text).min(1)]),
    files: Text.optional(),
  }),
  z.looseObject({
    type: z.literal('pattern_check'),
    patterns: z.looseObject({ dangerous: z.array(PatternShape).max(100), ...Severity }),
    ...Severity,
  }),
  z.looseObject({ type: z.literal('shebang_required'), pattern: PatternShape.default('^#!') }),
])
const KNOWN_TYPES: ReadonlySet<unknown> = new Set(RuleShape.options.map(({ shape }) => shape.type.value))
const ValidationShape = z.looseObject({
  rules: z
    .array(z.looseObject({ type: Text }))
    .max(100)
    .default([]),
  child_schemas: z
    .array(z.looseObject({ match: Json.default({}), schema: Json }))
    .max(100)
    .default([]),
})

/** Rules of these are about what runs through them, not about themselves. */
const EXECUTORS: ReadonlySet<ToolType> = new Set(['primitive', 'runtime', 'mcp_server'])

/** Grows when rules are read in another way than before: results that were kept until then are of no use. */
const FORM = 1

/** The rules of every link, those of the end first: a child adds to them and takes none away. */
export function rulesOf(items: readonly Item[]): RuleSet {
  const rules: Rule[] = []
  const warnings: string[] = []
  const key = sha256([FORM, ...items.map(({ contentHash }) => contentHash)].join(' '))
  // What is shipped was checked before it was shipped.
  if (items.every(({ space }) => space === 'builtin')) return { rules, key, warnings }
  for (const [at, item] of [...items.entries()].toReversed()) {
    const { id, manifest } = item
    if (manifest.validation === undefined) continue
    const { rules: given, child_schemas } = parse(ValidationShape, manifest.validation, item, 'validation')
    const child = items[at - 1]
    for (const { match, schema } of child_schemas) {
      if (child === undefined || !isPartOf(match, child.manifest)) continue
      const { id: childId, manifest: ofChild } = child
      rules.push({ type: 'child_schema', tool: id, child: { id: childId, manifest: ofChild }, schema })
    }
    if (at === 0 && EXECUTORS.has(manifest.tool_type)) continue
    for (const [number, rule] of given.entries()) {
      if (KNOWN_TYPES.has(rule.type)) rules.push(readRule(rule, item, number))
      else warnings.push(`"${id}" has a rule of the unknown type "${rule.type}": kept, without effect`)
    }
  }
  return { rules, key, warnings }
}

function readRule(given: unknown, item: Item, number: number): Rule {
  const rule = parse(RuleShape, given, item, `validation.rules.${number}`)
  const tool = item.id
  switch (rule.type) {
    case 'syntax_check': {
      const { command, files = null } = rule
      const words = typeof command === 'string' ? command.split(/\s+/).filter((word) => word !== '') : command
      return { type: rule.type, tool, command: words, files }
    }
    case 'pattern_check': {
      const { patterns } = rule
      const isBlocking = [rule, patterns].some(({ block, warn_only }) => block ?? warn_only === false)
      return { type: rule.type, tool, patterns: patterns.dangerous.map(readPattern), isBlocking }
    }
    case 'shebang_required':
      return { type: rule.type, tool, pattern: readPattern(rule.pattern) }
  }
}

/** A text is taken as it is unless it holds what only an expression would. */
function readPattern(given: z.infer<typeof PatternShape>): Pattern {
  if (typeof given === 'string') {
    return { source: given, isExpression: /\.[*+]|[\^$\\]/.test(given), name: given }
  }
  const isExpression = 'regex' in given
  const source = isExpression ? given.regex : given.literal
  return { source, isExpression, name: given.name ?? source }
}

/** Whether everything in the part stands in the whole as well. */
function isPartOf(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return part === whole
  if (typeof whole !== 'object' || whole === null || Array.isArray(part) !== Array.isArray(whole))
    return false
  return Object.entries(part).every(
    ([key, value]) => Object.hasOwn(whole, key) && isPartOf(value, Reflect.get(whole, key)),
  )
}

/** A rule that cannot be read must not be one that is left out. */
function parse<T>(shape: z.ZodType<T>, given: unknown, { id }: Item, where: string): T {
  const parsed = shape.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues).map(({ name, reason }) => ({
    name: name === '' ? where : `${where}.${name}`,
    reason,
  }))
  const faults = invalid.map(({ name, reason }) => `"${name}": ${reason}`).join('; ')
  throw new KiwiError('INVALID_MANIFEST', `Cannot use the rules of "${id}": ${faults}`, {
    details: { invalid },
  })
}
