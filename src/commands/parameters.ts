import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

/** What a JSON Schema says of a parameter: `true` allows anything. */
export type Property = boolean | JsonObject

/** The same of each. A schema may come from a server, and be none: what of it can be read counts. */
export function propertiesIn(schema: unknown): Readonly<Record<string, Property>> {
  const { properties } = isJsonObject(schema) ? schema : {}
  const entries = Object.entries(isJsonObject(properties) ? properties : {})
  return Object.fromEntries(
    entries.flatMap(([name, said]): [string, Property][] =>
      typeof said === 'boolean' || isJsonObject(said) ? [[name, said]] : [],
    ),
  )
}

const PAIR = /^([^=:]+)(:?=)([^]*)$/

/** Whether a pair is `name=text`, which only the tool's schema can turn into a value. */
export function needsSchema(pairs: readonly string[]): boolean {
  return pairs.some((pair) => PAIR.exec(pair)?.[2] === '=')
}

/**
 * Parameters from the command line: `--params` with JSON, `@file` or `-`, then `name=text` and `name:=json`.
 * A text is turned into what the tool's schema says it is.
 */
export function readParameters(
  pairs: readonly string[],
  given: string | undefined,
  schema: unknown,
): JsonObject {
  const properties = propertiesIn(schema)
  const parameters: Record<string, JsonValue> = { ...(given === undefined ? {} : readJsonObject(given)) }
  for (const pair of pairs) {
    const [, name, sign, text = ''] = PAIR.exec(pair) ?? []
    if (name === undefined) {
      throw new KiwiError(
        'INVALID_PARAMETERS',
        `Cannot read "${pair}": it is neither name=text nor name:=json`,
        {
          hint: pair.startsWith('{')
            ? `Give all parameters as JSON with --params '${pair}'`
            : 'Write name=Ada for a text, count:=3 for JSON',
        },
      )
    }
    parameters[name] = sign === ':=' ? parseJson(text, name) : convert(text, name, properties[name])
  }
  return parameters
}

function convert(text: string, name: string, schema: Property | undefined): JsonValue {
  const type: unknown = typeof schema === 'object' ? schema['type'] : undefined
  switch (type) {
    case 'number':
    case 'integer':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
    case 'object':
      return parseJson(text, name, `Write a list as ${name}='["a", "b"]', an object as ${name}='{"a": 1}'`)
    default:
      return text
  }
}

function readJsonObject(given: string): JsonObject {
  const source = given === '-' ? 0 : given.startsWith('@') ? given.slice(1) : null
  const value = parseJson(source === null ? given : readText(source), '--params')
  if (isJsonObject(value)) return value
  throw new KiwiError('INVALID_PARAMETERS', 'Cannot read --params: it is not a JSON object')
}

function readText(source: string | 0): string {
  try {
    return readFileSync(source, 'utf8')
  } catch (error) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read --params: ${messageOf(error)}`, {
      hint: 'Give JSON, @ and the path of a file, or - for standard input',
      cause: error,
    })
  }
}

function parseJson(
  text: string,
  name: string,
  hint = 'Correct the JSON: texts stand in double quotes',
): JsonValue {
  try {
    return z.json().parse(JSON.parse(text))
  } catch (error) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read "${name}" as JSON: ${messageOf(error)}`, {
      hint,
      details: { missing: [], invalid: [{ name, reason: 'is no JSON' }] },
    })
  }
}
