import type { ErrorObject } from 'ajv/dist/2020.js'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isObject, sha256 } from '../shared/json.ts'
import { judgeSchema } from './schema-cost.ts'
import type { Reach, SchemaEngine, Validate } from './schema-engine.ts'
import { loadSchemaEngine, MOST_WORK, TOO_LONG } from './schema-engine.ts'

/** What a value lacks or has wrong, by field. */
export interface Findings {
  readonly missing: readonly string[]
  readonly invalid: readonly { readonly name: string; readonly reason: string }[]
}

/** The findings in words: `"a" is missing; "b" must be number`. */
export function describeFindings({ missing, invalid }: Findings): string {
  return [
    ...missing.map((name) => `"${name}" is missing`),
    ...invalid.map(({ name, reason }) => `"${name}" ${reason}`),
  ].join('; ')
}

/** Checks a value and fills in its defaults in place; null when nothing is wrong. */
export type Check = (value: unknown) => Findings | null

/** Compiles JSON Schemas that come from data: bounded in cost, patterns in linear time, once for each content. */
export interface Schemas {
  /** One that is shipped with Kiwi was tried before that; any other is checked for being a schema at all. */
  compile(schema: JsonObject, what: string, isShipped?: boolean): Promise<Check>
}

const MOST_COMPILED = 2000
const MOST_FINDINGS = 20
/** Values in a value that is still searched for all its faults; of a larger one the first is named. */
const MOST_VALUES = 1000
/** Counting the characters of a text takes as long as checking several values. */
const CHARACTERS_PER_VALUE = 250

export function openSchemas(): Schemas {
  let engine: Promise<SchemaEngine> | null = null
  const compiled = new Map<string, Check>()
  return {
    async compile(schema, what, isShipped = false) {
      const key = sha256(canonicalJson(schema))
      const known = compiled.get(key)
      if (known !== undefined) return known
      const judgement = judgeSchema(schema, what)
      const loaded = await (engine ??= loadSchemaEngine())
      const compileFor = (reach: Reach): Validate =>
        named(what, () => loaded.compile(schema, judgement, { reach, isProven: isShipped }))
      const check = toCheck(compileFor, Math.floor(MOST_WORK / judgement.cost))
      if (compiled.size >= MOST_COMPILED) {
        compiled.clear()
        // An engine keeps something of every schema it has ever compiled.
        engine = null
      }
      compiled.set(key, check)
      return check
    },
  }
}

function named(what: string, compile: () => Validate): Validate {
  try {
    return compile()
  } catch (error) {
    throw new KiwiError('INVALID_MANIFEST', `Cannot use ${what}: ${messageOf(error)}`, {
      hint: 'Correct the JSON Schema',
      cause: error,
    })
  }
}

/** Whatever a value meets, it meets at most the whole schema: so the number of values bounds the work. */
function toCheck(compile: (reach: Reach) => Validate, mostValues: number): Check {
  const findFirst = compile('first')
  let findAll: Validate | null = null
  return (value) => {
    if (sizeOf(value, mostValues) > mostValues) return toFindings([TOO_LONG])
    const first = findFirst(value)
    if (first === null) return null
    if (sizeOf(value, MOST_VALUES) > MOST_VALUES) return toFindings(first)
    findAll ??= compile('all')
    return toFindings(findAll(value) ?? first)
  }
}

/**
 * The values in a value, a long text counted as several; no further than needed to see that there are more. Every
 * check begins here, so it copies nothing and calls itself for lists and objects only.
 */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return 1 + Math.trunc(value.length / CHARACTERS_PER_VALUE)
  let size = 1
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && size <= most; i++)
      size += isLeaf(value[i]) ? 1 : sizeOf(value[i], most - size)
  } else if (isObject(value)) {
    for (const key in value) {
      size += isLeaf(value[key]) ? 1 : sizeOf(value[key], most - size)
      if (size > most) break
    }
  }
  return size
}

/** Counts as one at sight. */
function isLeaf(value: unknown): boolean {
  return typeof value === 'string' ? value.length < CHARACTERS_PER_VALUE : typeof value !== 'object'
}

function toFindings(found: readonly ErrorObject[]): Findings {
  const errors = found.slice(0, MOST_FINDINGS)
  return {
    missing: errors.filter(({ keyword }) => keyword === 'required').map((error) => fieldOf(error)),
    invalid: errors
      .filter(({ keyword }) => keyword !== 'required')
      .map((error) => ({ name: fieldOf(error), reason: reasonOf(error) })),
  }
}

function fieldOf({ keyword, instancePath, params }: ErrorObject): string {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last: unknown = params[NAMED_BY[keyword] ?? '']
  return [...path, typeof last === 'string' ? last : ''].filter((part) => part !== '').join('.') || 'value'
}

/** Where an error names a property that its path does not. */
const NAMED_BY: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
}

function reasonOf({ keyword, message, params }: ErrorObject): string {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') return 'is not known here'
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`
  if (keyword === 'oneOf')
    return params['passingSchemas'] === null
      ? 'must have one of its forms'
      : 'must have one of its forms, not both'
  return message ?? `fails "${keyword}"`
}
