// JSON Schemas come from data, so every check has a budget: what one can cost is bounded, not only what it looks like.
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import type { RE2JS } from 're2js'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import type { Judgement } from './schema-cost.ts'
import { openTargets } from './schema-references.ts'

/** What is wrong with a value, the defaults filled in; null when nothing is. */
export type Validate = (value: unknown) => readonly ErrorObject[] | null

export interface SchemaEngine {
  compile(schema: JsonObject, judgement: Judgement, how: How): Validate
}

interface How {
  /** Whether to stop at the first fault or to find them all, which a large value can make dear. */
  readonly reach: Reach
  /** The schema is taken as it is; otherwise it is checked against that of schemas, which takes long to compile. */
  readonly isProven: boolean
}

export type Reach = 'first' | 'all'

/** Schemas that values may meet in one check. An alternative that fails takes the longest, up to a microsecond. */
export const MOST_WORK = 3_000_000
/** Turns of a recursive schema in one check: alternatives at each level would make them 2, 4, 8 and so on. */
const MOST_TURNS = 100_000
/** Schemas that a turn is taken for, for each it holds: all the faults it found are copied upwards. */
const TURN_WEIGHT = 10
const TURN = 'x-kiwi-turn'
/** Steps of a compiled pattern, each of which may be taken for every character. */
const LARGEST_PATTERN = 2000
/** Steps of a pattern that take as long as one schema. */
const STEPS_PER_WORK = 10

export async function loadSchemaEngine(): Promise<SchemaEngine> {
  const [{ Ajv2020: Latest }, { Ajv: Draft7 }, { RE2JS: Pattern }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv'),
    import('re2js'),
  ])
  const budget: Budget = { left: 0, turn: 0 }
  const ajvs = new Map<string, Ajv>()
  const ajvFor = (schema: JsonObject, { reach, isProven }: How): Ajv => {
    const dialect = schema['$schema']
    const isDraft7 = typeof dialect === 'string' && /draft-0[67]/.test(dialect)
    const key = `${isDraft7} ${reach} ${isProven}`
    const known = ajvs.get(key)
    if (known !== undefined) return known
    const options = { ...optionsOf(reach, Pattern, budget), validateSchema: !isProven, meta: !isProven }
    const ajv: Ajv = isDraft7 ? new Draft7(options) : new Latest(options)
    bound(ajv, budget)
    ajvs.set(key, ajv)
    return ajv
  }
  return {
    compile(schema, { cost, recurring }, how) {
      const ajv = ajvFor(schema, how)
      const own = ownSchema(schema, recurring)
      // A schema is itself checked, against that of schemas.
      budget.left = MOST_WORK
      try {
        const validate = ajv.compile(own)
        return (value) => {
          budget.left = MOST_WORK
          budget.turn = Math.max(TURN_WEIGHT * cost, MOST_WORK / MOST_TURNS)
          try {
            return validate(value) ? null : (validate.errors ?? [])
          } catch (error) {
            if (error instanceof OverBudget) return [TOO_LONG]
            throw error
          }
        }
      } finally {
        ajv.removeSchema(own)
      }
    },
  }
}

type Ajv = Pick<Ajv2020, 'addKeyword' | 'compile' | 'removeKeyword' | 'removeSchema'>

/** What is left of a check's work, and what a turn takes of it. */
interface Budget {
  left: number
  turn: number
}

function spend(budget: Budget, work: number): void {
  budget.left -= work
  if (budget.left < 0) throw new OverBudget(TOO_LONG.message)
}

class OverBudget extends Error {}

export const TOO_LONG: ErrorObject = {
  keyword: TURN,
  instancePath: '',
  schemaPath: '',
  params: {},
  message: 'takes too long to check',
}

function optionsOf(
  reach: Reach,
  Pattern: typeof RE2JS,
  budget: Budget,
): ConstructorParameters<typeof Ajv2020>[0] {
  const linear = (source: string): { test: (text: string) => boolean; toString: () => string } => {
    const pattern = Pattern.compile(Pattern.translateRegExp(source))
    const size = pattern.programSize()
    if (size > LARGEST_PATTERN) throw new RangeError('a pattern is too large')
    const test = (text: string): boolean => {
      spend(budget, (size * text.length) / STEPS_PER_WORK)
      return pattern.matcher(text).find()
    }
    // Ajv keeps patterns by their text: without one of its own, each would be taken for the first.
    return { test, toString: () => source }
  }
  return {
    allErrors: reach === 'all',
    strict: false,
    validateFormats: false,
    useDefaults: true,
    addUsedSchema: false,
    // What is used often would be written out as often, past the bound on what is compiled.
    inlineRefs: false,
    // It would print the code of what cannot be compiled.
    logger: false,
    // Tidying the code takes longer than compiling it, and the machine does not need it.
    code: { regExp: Object.assign(linear, { code: 'linear' }), optimize: false },
  }
}

/** Ajv compares every item with every other, and has no budget for recursion. */
function bound(ajv: Ajv, budget: Budget): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: readonly unknown[]) =>
      !isWanted || new Set(items.map((item) => canonicalJson(item))).size === items.length,
    error: { message: 'must NOT have duplicate items' },
  })
  ajv.addKeyword({
    keyword: TURN,
    // Behind the others it would not be reached when they find a fault.
    before: '$ref',
    schema: false,
    errors: false,
    validate: () => {
      spend(budget, budget.turn)
      return true
    },
  })
}

/**
 * A copy that the engine reads as we do: whatever calls itself asynchronous, foreign or by a name of its own is
 * still checked here and now, and what recurs is counted. Ajv finds `#` only in a schema that has a name.
 */
function ownSchema(schema: JsonObject, recurring: ReadonlySet<string>): JsonObject {
  const { $schema: _dialect, $async: _async, ...kept } = schema
  const own: JsonObject = { ...structuredClone(kept), $id: 'kiwi:schema' }
  const find = openTargets(own, 'the schema')
  for (const reference of recurring) {
    const target = find(reference)
    if (typeof target === 'object' && target !== null) Reflect.set(target, TURN, true)
  }
  return own
}
