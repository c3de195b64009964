import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { assertPlain, isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'

/** Reads TOML as strictly as its own rules are; dates stay the text they are written as. */
export async function parseToml(text: string, where: string): Promise<JsonObject> {
  const { parse, TomlError } = await import('smol-toml')
  try {
    const value = parse(text.replace(/^\uFEFF/, ''), {
      maxDepth: LIMITS.nesting,
      unsafeKeyBehaviour: 'throw',
    })
    assertPlain(value, `"${where}"`, 'PARSE_ERROR')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- dates are the only values of TOML that JSON lacks
    return withoutDates(value) as JsonObject
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new KiwiError(
      'PARSE_ERROR',
      `Cannot read "${where}": ${reason} (line ${error.line}, column ${error.column})`,
    )
  }
}

function withoutDates(value: unknown): JsonValue {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(withoutDates)
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutDates(inner)]))
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts, numbers and booleans are all that is left
  return value as JsonValue
}
