// JSON Schemas come from data, so nothing in them may take longer than the value they check is long.
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import type { RE2JS } from 're2js'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import { openTargets } from './schema-references.ts'

/** What is wrong with a value, the defaults filled in; null when nothing is. */
export type Validate = (value: unknown) => readonly ErrorObject[] | null

export interface SchemaEngine {
  /** `reach` says whether to stop at the first fault or to find them all, which a large value can make dear. */
  compile(schema: JsonObject, recurring: ReadonlySet<string>, reach: Reach): Validate
}

export type Reach = 'first' | 'all'

/** Turns of a recursive schema in one check: alternatives at each level would make them 2, 4, 8 and so on. */
const MOST_TURNS = 100_000
const TURN = 'x-kiwi-turn'
/** Steps of a compiled pattern, each of which may be taken for every character. */
const LARGEST_PATTERN = 2000

export async function loadSchemaEngine(): Promise<SchemaEngine> {
  const [{ Ajv2020: Latest }, { Ajv: Draft7 }, { RE2JS: Pattern }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv'),
    import('re2js'),
  ])
  const turns = { left: 0 }
  const ajvs = new Map<string, Ajv>()
  const ajvFor = (schema: JsonObject, reach: Reach): Ajv => {
    const dialect = schema['$schema']
    const isDraft7 = typeof dialect === 'string' && /draft-0[67]/.test(dialect)
    const key = `${isDraft7} ${reach}`
    const known = ajvs.get(key)
    if (known !== undefined) return known
    const options = optionsOf(reach, Pattern)
    const ajv: Ajv = isDraft7 ? new Draft7(options) : new Latest(options)
    bound(ajv, turns)
    ajvs.set(key, ajv)
    return ajv
  }
  return {
    compile(schema, recurring, reach) {
      const ajv = ajvFor(schema, reach)
      const own = ownSchema(schema, recurring)
      try {
        const validate = ajv.compile(own)
        return (value) => {
          turns.left = MOST_TURNS
          try {
            return validate(value) ? null : (validate.errors ?? [])
          } catch (error) {
            if (error instanceof TooManyTurns) return [TOO_LONG]
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

class TooManyTurns extends Error {}

const TOO_LONG: ErrorObject = {
  keyword: TURN,
  instancePath: '',
  schemaPath: '',
  params: {},
  message: 'takes too long to check',
}

function optionsOf(reach: Reach, Pattern: typeof RE2JS): ConstructorParameters<typeof Ajv2020>[0] {
  const linear = (source: string): { test: (text: string) => boolean; toString: () => string } => {
    const pattern = Pattern.compile(Pattern.translateRegExp(source))
    if (pattern.programSize() > LARGEST_PATTERN) throw new RangeError('a pattern is too large')
    // Ajv keeps patterns by their text: without one of its own, each would be taken for the first.
    return { test: (text) => pattern.matcher(text).find(), toString: () => source }
  }
  return {
    allErrors: reach === 'all',
    strict: false,
    validateFormats: false,
    useDefaults: true,
    addUsedSchema: false,
    code: { regExp: Object.assign(linear, { code: 'linear' }) },
  }
}

/** Ajv compares every item with every other, and has no budget for recursion. */
function bound(ajv: Ajv, turns: { left: number }): void {
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
      turns.left -= 1
      if (turns.left < 0) throw new TooManyTurns()
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
