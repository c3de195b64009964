import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../../shared/field-faults.ts'
import { fitsGlob } from '../../shared/glob.ts'
import { textOf } from '../../shared/template.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { visible } from '../../shared/visible.ts'

const Argument = z.strictObject({
  fixed: z.json().optional(),
  default: z.json().optional(),
  hide: z.boolean().optional(),
  description: z.string().optional(),
})
const Override = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,128}$/, 'use letters, digits, "_", "-" and "."')
    .optional(),
  description: z.string().optional(),
  arguments: z.record(z.string(), Argument).optional(),
  hide: z.boolean().optional(),
})
const Tools = z.strictObject({
  include: z.array(z.string().min(1)).optional(),
  exclude: z.array(z.string().min(1)).optional(),
  overrides: z.record(z.string(), Override).optional(),
})

/** How a person wants the tools of a server to be shown and called, as its item says under `tools`. The pin stays on what the server said. */
export interface Overrides {
  /** A definition as agents see it; null for one that is kept from them, or whose new name is that of another one of `listed`. */
  show(raw: JsonObject, listed?: ReadonlySet<string>): Overridden | null
  /** What the server may know by the name that agents use, the first that is listed is meant: a name is never taken from the tool that has it. */
  originals(shown: string): readonly string[]
  /** What is done to the arguments of a tool of the server, whoever defined the item that calls it; null for one that agents may not call. */
  sent(original: string): Sent | null
  /** What is said about tools or arguments that are not there, or cannot be done. */
  warnings(listed: readonly JsonObject[]): readonly string[]
}

interface Overridden {
  readonly name: string
  readonly definition: JsonObject
}

/** What goes out with every call, whatever the caller says, and what never does. */
export interface Sent {
  readonly fixed: JsonObject
  readonly hidden: readonly string[]
}

/** Reads `tools` of the config of a server. What cannot be read hides nothing by mistake: it is refused. */
export function readOverrides(server: string, config: JsonObject): Overrides {
  const { tools } = config
  if (tools === undefined || tools === null) return AS_THEY_ARE
  const parsed = Tools.safeParse(tools, IN_WORDS)
  if (!parsed.success) throw invalid(server, fieldFaults(parsed.error.issues))
  const { include, exclude = [], overrides = {} } = parsed.data
  const changed = new Map(Object.entries(overrides))
  const { renamed, twice } = newNames(changed)
  const isShown = (name: string): boolean =>
    (include === undefined || fits(include, name)) &&
    !fits(exclude, name) &&
    changed.get(name)?.hide !== true &&
    !twice.has(name)
  const isRenamed = (name: string): boolean => (changed.get(name)?.name ?? name) !== name
  const isTaken = (name: string, shown: string, listed: ReadonlySet<string>): boolean =>
    shown !== name && listed.has(shown) && !isRenamed(shown)
  return {
    show(raw, listed) {
      const name = textOf(raw['name'])
      const shown = isShown(name) ? overridden(raw, changed.get(name) ?? {}) : null
      return shown !== null && listed !== undefined && isTaken(name, shown.name, listed) ? null : shown
    },
    originals: (shown) =>
      [
        ...(isRenamed(shown) ? [] : [shown]),
        ...(renamed.has(shown) ? [renamed.get(shown) ?? shown] : []),
      ].filter(isShown),
    sent: (original) => (isShown(original) ? sentWith(changed.get(original) ?? {}) : null),
    warnings(listed) {
      const byName = new Map(listed.map((raw) => [textOf(raw['name']), raw]))
      const said: string[] = []
      for (const [name, override] of changed) {
        const raw = byName.get(name)
        const told = `tools.overrides of "${server}"`
        if (raw === undefined) said.push(`${told}: there is no tool "${name}"`)
        else said.push(...argumentFaults(raw, override).map((fault) => `${told}: "${name}" ${fault}`))
        if (twice.has(name))
          said.push(`${told}: "${name}" is not shown: "${override.name}" is the new name of another one too`)
        const target = override.name ?? name
        if (isTaken(name, target, new Set(byName.keys())))
          said.push(`${told}: "${name}" is not shown: "${target}" is a tool of the server already`)
      }
      for (const name of [...(include ?? []), ...exclude]) {
        if (![...byName.keys()].some((listedName) => fitsGlob(name, listedName)))
          said.push(`tools of "${server}": no tool fits "${visible(name)}"`)
      }
      return said
    },
  }
}

/** What is renamed to what. Which of two is meant by one new name nobody can know: both are kept from agents. */
function newNames(changed: ReadonlyMap<string, Override>): {
  readonly renamed: ReadonlyMap<string, string>
  readonly twice: ReadonlySet<string>
} {
  const renamed = new Map<string, string>()
  const twice = new Set<string>()
  for (const [original, { name }] of changed) {
    if (name === undefined || name === original) continue
    const other = renamed.get(name)
    if (other === undefined) renamed.set(name, original)
    else twice.add(other).add(original)
  }
  return { renamed, twice }
}

function fits(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => fitsGlob(pattern, name))
}

/** What goes out: what is fixed, in place of what the caller says, and nothing that is hidden. */
export function fillArguments({ fixed, hidden }: Sent, given: JsonObject): JsonObject {
  if (hidden.length === 0) return Object.keys(fixed).length === 0 ? given : { ...given, ...fixed }
  const left = Object.entries(given).filter(([name]) => !hidden.includes(name))
  return { ...Object.fromEntries(left), ...fixed }
}

const AS_THEY_ARE: Overrides = {
  show: (raw) => overridden(raw, {}),
  originals: (shown) => [shown],
  sent: () => ({ fixed: {}, hidden: [] }),
  warnings: () => [],
}

function invalid(
  server: string,
  faults: readonly { readonly name: string; readonly reason: string }[],
): KiwiError {
  const all = faults.map(({ name, reason }) => `"${name}": ${reason}`).join('; ')
  return new KiwiError('INVALID_CONFIG', `Cannot use "tools" of "${server}": ${all}`, {
    hint: 'Correct these keys under "tools" of the server',
    details: { invalid: faults },
  })
}

type Override = z.infer<typeof Override>
type Argument = z.infer<typeof Argument>

/** The value that is sent for an argument that no caller gives; undefined when they do. */
function fixedValue({ fixed, default: value, hide }: Argument): JsonValue | undefined {
  return fixed === undefined && hide === true ? value : fixed
}

function sentWith({ arguments: given = {} }: Override): Sent {
  const all = Object.entries(given).map(
    ([name, argument]) => [name, fixedValue(argument), argument.hide] as const,
  )
  return {
    fixed: Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    hidden: all.flatMap(([name, value, hide]) => (value === undefined && hide === true ? [name] : [])),
  }
}

function overridden(raw: JsonObject, override: Override): Overridden {
  const name = override.name ?? textOf(raw['name'])
  const schema = isJsonObject(raw['inputSchema']) ? raw['inputSchema'] : null
  const given = Object.entries(override.arguments ?? {}).filter(
    ([argument]) => schema !== null && hasArgument(schema, argument),
  )
  const isGone = ([argument, how]: (typeof given)[number]): boolean =>
    fixedValue(how) !== undefined || (how.hide === true && schema !== null && !isRequired(schema, argument))
  const gone = new Set(given.filter(isGone).map(([argument]) => argument))
  const more = new Map(given.filter(([argument]) => !gone.has(argument)))
  return {
    name,
    definition: {
      ...raw,
      name,
      ...(override.description === undefined ? {} : { description: override.description }),
      ...(schema === null || given.length === 0 ? {} : { inputSchema: shownSchema(schema, gone, more) }),
    },
  }
}

/** Where a schema offers a choice between several, an argument may stand in each of them. */
const CHOICES = ['allOf', 'anyOf', 'oneOf'] as const

function shownSchema(
  schema: JsonObject,
  gone: ReadonlySet<string>,
  changed: ReadonlyMap<string, Argument>,
): JsonObject {
  const { properties, required } = schema
  const isGiven = (name: JsonValue): boolean =>
    typeof name === 'string' && (gone.has(name) || changed.get(name)?.default !== undefined)
  const choices = CHOICES.flatMap((word) => {
    const all = schema[word]
    if (!Array.isArray(all)) return []
    const each = all.map((one: JsonValue) => (isJsonObject(one) ? shownSchema(one, gone, changed) : one))
    return [[word, each] as const]
  })
  return {
    ...schema,
    ...Object.fromEntries(choices),
    ...(isJsonObject(properties) ? { properties: shownProperties(properties, gone, changed) } : {}),
    ...(Array.isArray(required) ? { required: required.filter((name: JsonValue) => !isGiven(name)) } : {}),
  }
}

function shownProperties(
  properties: JsonObject,
  gone: ReadonlySet<string>,
  changed: ReadonlyMap<string, Argument>,
): JsonObject {
  const left = Object.entries(properties).filter(([name]) => !gone.has(name))
  return Object.fromEntries(
    left.map(([name, property]) => {
      const { default: value, description } = changed.get(name) ?? {}
      if (!isJsonObject(property)) return [name, property]
      return [
        name,
        {
          ...property,
          ...(value === undefined ? {} : { default: value }),
          ...(description === undefined ? {} : { description }),
        },
      ]
    }),
  )
}

function hasArgument(schema: JsonObject, name: string): boolean {
  const { properties } = schema
  if (isJsonObject(properties) && Object.hasOwn(properties, name)) return true
  return CHOICES.some((word) => {
    const all = schema[word]
    return Array.isArray(all) && all.some((one: JsonValue) => isJsonObject(one) && hasArgument(one, name))
  })
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

function argumentFaults(raw: JsonObject, { arguments: given = {} }: Override): readonly string[] {
  const schema = isJsonObject(raw['inputSchema']) ? raw['inputSchema'] : {}
  return Object.entries(given).flatMap(([name, { fixed, default: value, hide }]) => {
    if (!hasArgument(schema, name)) return [`has no argument "${name}"`]
    if (hide === true && fixed === undefined && value === undefined && isRequired(schema, name))
      return [`needs "${name}", so it is not hidden: say what is sent with "fixed"`]
    return []
  })
}
