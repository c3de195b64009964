import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

const Properties = z.looseObject({ properties: z.record(z.string(), z.looseObject({})).default({}) })

/**
 * Parameters from the command line: `--params` with JSON, `@file` or `-`, then `name=text` and `name:=json`.
 * A text is turned into what the tool's schema says it is.
 */
export function readParameters(
  pairs: readonly string[],
  given: string | undefined,
  schema: unknown,
): JsonObject {
  const { properties } = Properties.catch({ properties: {} }).parse(schema)
  const parameters: Record<string, JsonValue> = { ...(given === undefined ? {} : readJsonObject(given)) }
  for (const pair of pairs) {
    const [, name, sign, text = ''] = /^([^=:]+)(:?=)([^]*)$/.exec(pair) ?? []
    if (name === undefined) {
      throw new KiwiError(
        'INVALID_PARAMETERS',
        `Cannot read "${pair}": it is neither name=text nor name:=json`,
        {
          hint: 'Write name=Ada for a text, count:=3 for JSON',
        },
      )
    }
    parameters[name] = sign === ':=' ? parseJson(text, name) : convert(text, properties[name]?.['type'])
  }
  return parameters
}

function convert(text: string, type: unknown): JsonValue {
  switch (type) {
    case 'number':
    case 'integer':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
    case 'object':
      return parseJson(text, 'value')
    default:
      return text
  }
}

function readJsonObject(given: string): JsonObject {
  const text =
    given === '-'
      ? readFileSync(0, 'utf8')
      : given.startsWith('@')
        ? readFileSync(given.slice(1), 'utf8')
        : given
  const value = parseJson(text, '--params')
  if (isJsonObject(value)) return value
  throw new KiwiError('INVALID_PARAMETERS', 'Cannot read --params: it is not a JSON object')
}

function parseJson(text: string, name: string): JsonValue {
  try {
    return z.json().parse(JSON.parse(text))
  } catch (error) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read "${name}" as JSON: ${messageOf(error)}`)
  }
}
