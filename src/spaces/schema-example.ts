import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { numberExample } from './number-example.ts'
import { textExample } from './text-example.ts'

/** A value that a schema accepts, as small as it can be: a choice or default of its own, else what must be there. */
export function schemaExample(schema: JsonValue, name: string, root: JsonValue = schema): JsonValue {
  return exampleOf(schema, { name, depth: 0, nth: 0, root, budget: { left: MOST_PARTS } })
}

interface Place {
  /** What it is called, to be shown where any text will do. */
  readonly name: string
  readonly depth: number
  /** Which of several in a list that must differ. */
  readonly nth: number
  /** Where references lead. */
  readonly root: JsonValue
  readonly budget: { left: number }
}

const MOST_PARTS = 300
const DEEPEST = 10
const MOST_CHARACTERS = 200
const MOST_ITEMS = 10
const MOST_REFERENCES = 8

function exampleOf(given: JsonValue, place: Place): JsonValue {
  place.budget.left -= 1
  const schema = flat(given, place.root)
  const said = saidIn(schema, place)
  if (said !== undefined) return said
  const isDeep = place.depth >= DEEPEST || place.budget.left <= 0
  switch (typeOf(schema)) {
    case 'boolean':
      return false
    case 'integer':
    case 'number':
      return numberExample(schema, place.nth)
    case 'null':
      return null
    case 'array':
      return isDeep ? [] : listExample(schema, place)
    case 'object':
      return isDeep ? {} : objectExample(schema, place)
    case null:
    default:
      return textExample(schema, place.name, place.nth)
  }
}

/** What the schema itself names. */
function saidIn(schema: JsonObject, { nth }: Place): JsonValue | undefined {
  if (schema['const'] !== undefined) return schema['const']
  const { enum: choices, default: usual, examples } = schema
  if (Array.isArray(choices)) {
    const short = choices.filter((choice: JsonValue) => choice !== null && isShort(choice))
    return short[nth % Math.max(1, short.length)] ?? choices[0]
  }
  if (nth > 0) return undefined
  const isFit = (value: JsonValue | undefined): value is JsonValue =>
    value !== undefined && isShort(value) && isOfType(value, typeOf(schema))
  if (isFit(usual)) return usual
  // Of what is read as it stands none is made up; what a text is to be is for the caller to say.
  const [first] = Array.isArray(examples) && typeOf(schema) !== 'string' ? examples : []
  return isFit(first) ? first : undefined
}

/** A call is shown in every search result, so a value in it must not outgrow the rest. */
function isShort(value: JsonValue): boolean {
  return JSON.stringify(value).length <= MOST_CHARACTERS
}

function isOfType(value: JsonValue, type: string | null): boolean {
  if (type === null) return true
  if (type === 'integer') return Number.isInteger(value)
  if (Array.isArray(value)) return type === 'array'
  return value === null ? type === 'null' : typeof value === type
}

function typeOf({ type, properties, items, required }: JsonObject): string | null {
  if (Array.isArray(type)) return type.map(String).find((one) => one !== 'null') ?? 'null'
  if (typeof type === 'string') return type
  if (properties !== undefined || required !== undefined) return 'object'
  return items === undefined ? null : 'array'
}

function listExample(schema: JsonObject, place: Place): JsonValue {
  const { items, prefixItems, minItems, maxItems } = schema
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const each: JsonValue = Array.isArray(items) ? true : (items ?? true)
  // Where nothing is said of what is in it, nothing has to be.
  const usual = isJsonObject(each) || first.length > 0 ? Math.max(1, first.length) : 0
  const least = typeof minItems === 'number' ? Math.max(usual, minItems) : usual
  const count = Math.min(least, typeof maxItems === 'number' ? maxItems : least, MOST_ITEMS)
  return Array.from({ length: count }, (_, nth) =>
    exampleOf(first[nth] ?? each, { ...place, depth: place.depth + 1, nth }),
  )
}

function objectExample(schema: JsonObject, place: Place): JsonObject {
  const { minProperties } = schema
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const needed = new Set(namesIn(schema['required']))
  for (const name of Object.keys(properties)) {
    if (typeof minProperties === 'number' && needed.size < minProperties) needed.add(name)
  }
  return Object.fromEntries(
    Array.from(needed, (name) => [
      name,
      exampleOf(ownOf(properties, name) ?? otherOf(schema), {
        ...place,
        name,
        depth: place.depth + 1,
        nth: 0,
      }),
    ]),
  )
}

export function namesIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name: JsonValue) => typeof name === 'string') : []
}

function ownOf(properties: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

function otherOf({ additionalProperties }: JsonObject): JsonValue {
  return isJsonObject(additionalProperties) ? additionalProperties : true
}

/** References followed, all parts that must hold as one, and the first of alternatives. */
export function flat(given: JsonValue, root: JsonValue, hops = 0): JsonObject {
  if (!isJsonObject(given) || hops > MOST_REFERENCES) return {}
  const { $ref: reference, allOf, anyOf, oneOf, ...own } = given
  const target = typeof reference === 'string' ? [targetOf(reference, root)] : []
  const all = Array.isArray(allOf) ? allOf.slice(0, MOST_ITEMS) : []
  const parts = [...target, ...all, ...choiceOf(anyOf), ...choiceOf(oneOf)]
  return parts.reduce<JsonObject>((merged, part) => joined(merged, flat(part, root, hops + 1)), own)
}

/** The first alternative that is something, rather than nothing at all. */
function choiceOf(choices: JsonValue | undefined): readonly JsonValue[] {
  if (!Array.isArray(choices)) return []
  const some = choices.find((choice: JsonValue) => isJsonObject(choice) && choice['type'] !== 'null')
  return some === undefined ? [] : [some]
}

function joined(a: JsonObject, b: JsonObject): JsonObject {
  const properties = [a['properties'], b['properties']].filter((each) => isJsonObject(each))
  const required = [...new Set([...namesIn(a['required']), ...namesIn(b['required'])])]
  return {
    ...a,
    ...b,
    ...(properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) }),
    ...(required.length === 0 ? {} : { required }),
  }
}

function targetOf(reference: string, root: JsonValue): JsonValue {
  if (!reference.startsWith('#')) return {}
  let node: JsonValue | undefined = root
  for (const part of reference.split('/').slice(1)) {
    const key = safeDecode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(node)) node = node[Number(key)]
    else node = isJsonObject(node) ? ownOf(node, key) : undefined
  }
  return node ?? {}
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
