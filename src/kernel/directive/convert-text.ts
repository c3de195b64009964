import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'

/** Parameters that were written as text, as the types of a schema where these leave no doubt; all others as they are. */
export function convertParameters(parameters: JsonObject, schema: JsonObject): JsonObject {
  const { properties } = schema
  const known = isJsonObject(properties) ? properties : {}
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => {
      const property = Object.hasOwn(known, name) ? known[name] : undefined
      const type = isJsonObject(property) ? property['type'] : undefined
      return [name, typeof value === 'string' ? convertText(value, typesOf(type)) : value]
    }),
  )
}

/** A text that may be a text stays one. */
export function convertText(text: string, types: readonly string[]): JsonValue {
  if (types.length === 0 || types.includes('string')) return text
  const value = parsed(text.trim())
  return value !== undefined && types.some((type) => isOf(type, value)) ? value : text
}

function typesOf(type: JsonValue | undefined): readonly string[] {
  const given: readonly JsonValue[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
  return given.filter((name) => typeof name === 'string')
}

/** Only what stands for one value in JSON: `1e400`, `0x10` and `yes` do not. */
function parsed(text: string): JsonValue | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whatever JSON holds is a value of JSON
    const value = JSON.parse(text) as JsonValue
    return typeof value !== 'number' || Number.isFinite(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is of a type as JSON Schema names it. */
export function isOf(type: string, value: JsonValue): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    case 'null':
      return value === null
    default:
      return typeof value === type
  }
}
