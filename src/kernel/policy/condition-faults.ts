import { APART, BY_NAME, DATA, valuesOf } from '../../chain/schema-references.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isObject } from '../../shared/json.ts'
import { nearest } from '../../shared/nearest.ts'

/** Why a condition on arguments holds back less than is written, or can be met by no arguments at all. */
export function conditionFaults(when: JsonObject): readonly string[] {
  const [unknown] = unknownIn(when)
  if (unknown !== undefined) return [`"${unknown}" is no keyword of JSON Schema${meant(unknown)}`]
  const idle = Object.keys(when).find((key) => OF_VALUES.has(key))
  if (idle !== undefined) return [`"${idle}" says nothing of all arguments together${BELOW}`]
  return isImpossible({ type: 'object', ...when }) || !takes(when, 'object')
    ? ['no arguments can meet it, so it can never match']
    : []
}

/** Keywords that are not known would be passed over, and what they were meant to say with them. */
function unknownIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(unknownIn)
  if (!isObject(node)) return []
  return Object.entries(node).flatMap(([key, value]) => {
    if (!KEYWORDS.has(key)) return [key]
    if (DATA.has(key)) return []
    return unknownIn(
      BY_NAME.has(key) || APART.has(key) || key === 'dependentRequired' ? valuesOf(value) : value,
    )
  })
}

function meant(key: string): string {
  const [best] = nearest(key, [...KEYWORDS])
  return best === undefined ? BELOW : `: "${best}" is probably meant`
}

const BELOW = ': what is asked of an argument stands below "properties"'

/** Of texts, numbers and lists: all arguments together are none of these, so that every call would meet it. */
const OF_VALUES: ReadonlySet<string> = new Set(
  `minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format items prefixItems
  additionalItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems contentEncoding
  contentMediaType contentSchema`.split(/\s+/),
)

const KEYWORDS: ReadonlySet<string> = new Set(
  `type enum const properties required items allOf anyOf oneOf not if then else minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems uniqueItems prefixItems additionalItems
  contains minContains maxContains minProperties maxProperties patternProperties additionalProperties propertyNames
  dependentRequired dependentSchemas dependencies unevaluatedItems unevaluatedProperties $ref $dynamicRef $recursiveRef
  $defs definitions $schema $id $anchor $dynamicAnchor $recursiveAnchor $comment title description default examples
  deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema`.split(/\s+/),
)

/** Only what is plain to see: what is left may still be met by nothing. */
function isImpossible(schema: unknown): boolean {
  if (!isObject(schema)) return schema === false
  const { not, allOf, anyOf, oneOf, properties, required } = schema
  const values = 'const' in schema ? [schema['const']] : schema['enum']
  if (Array.isArray(values) && !values.some((value) => takes(schema, typeOf(value)))) return true
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return true
  if (Array.isArray(allOf) && allOf.some(isImpossible)) return true
  if ([anyOf, oneOf].some((forms) => Array.isArray(forms) && forms.every(isImpossible))) return true
  if (!isObject(properties) || !Array.isArray(required) || schema['type'] !== 'object') return false
  return required.some((name) => isImpossible(properties[String(name)]))
}

function takes({ type }: Readonly<Record<string, unknown>>, name: string): boolean {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  // What is no type is for the engine to tell.
  if (!types.every((one) => TYPES.has(one))) return true
  return types.includes(name) || (name === 'integer' && types.includes('number'))
}

const TYPES: ReadonlySet<unknown> = new Set('null boolean object array number integer string'.split(' '))

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
