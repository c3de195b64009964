import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { flat, namesIn } from '../spaces/schema-example.ts'

const MORE = '...'

/** Choices that are written out in place of their type. */
const MOST_CHOICES = 40

/**
 * What an item takes, in one line: `query, page?: integer, state?: open|closed`. A name alone takes a text; what must be
 * given comes first and is named whole up to `most`, of the rest as much as fits; where nothing must be given, one at
 * least. What is not named is dots, so that a line is empty only where nothing is taken.
 */
export function parameterLine(schema: JsonObject, longest: number, most = Infinity): string {
  const whole = flat(schema, schema)
  const properties = isJsonObject(whole['properties']) ? whole['properties'] : {}
  const required = new Set(namesIn(whole['required']))
  const must = [...required].map((name) => ({ name, type: typeOf(properties[name] ?? {}, schema) }))
  const may = Object.entries(properties)
    .filter(([name]) => !required.has(name))
    .map(([name, property]) => `${name}?${typeOf(property, schema)}`)
  const named = must.map(({ name }) => name)
  if (named.join(', ').length > most) return withMore('', named, most) || MORE
  const typed = must.map(({ name, type }) => name + type).join(', ')
  const line = typed.length <= longest ? typed : named.join(', ')
  const found = withMore(line, may, longest)
  if (found !== '') return found
  const first = firstOf(Object.keys(properties))
  return first.length > Math.max(most, MORE.length) ? MORE : first
}

/** Dots alone would say nothing. */
function firstOf([first, ...more]: readonly string[]): string {
  if (first === undefined) return ''
  return `${first}?${more.length === 0 ? '' : `, ${MORE}`}`
}

function withMore(line: string, more: readonly string[], longest: number): string {
  let whole = line
  for (const part of more) {
    const next = whole === '' ? part : `${whole}, ${part}`
    if (next.length > longest) return whole === '' ? '' : `${whole}, ${MORE}`
    whole = next
  }
  return whole
}

function typeOf(property: JsonValue, root: JsonObject): string {
  const { type, enum: choices, items } = flat(property, root)
  if (Array.isArray(choices)) {
    const written = choices.map(String).join('|')
    if (written.length <= MOST_CHOICES) return `: ${written}`
  }
  const named = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  if (named === 'array') return `: ${items === undefined ? 'any' : nameOf(flat(items, root)['type'])}[]`
  return named === undefined || named === 'string' ? '' : `: ${nameOf(named)}`
}

function nameOf(type: JsonValue | undefined): string {
  return typeof type === 'string' ? type : 'any'
}
