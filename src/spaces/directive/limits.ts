import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import { valueAs } from './values.ts'

/** `<limits>` and `<cost>`, as children or attributes, in one spelling: turns, tokens, spawns, duration, spend_usd. */
export function readLimits(sections: readonly Element[]): JsonObject {
  const given = sections.flatMap(({ attributes, children }) => [
    ...Object.entries(attributes),
    ...children.map(({ name, text, attributes: { currency } }): [string, string] => [
      name === 'spend' && currency !== undefined ? `spend_${currency.toLowerCase()}` : name,
      text,
    ]),
  ])
  return normalLimits(Object.fromEntries(given))
}

/** The same for limits that are data. */
export function normalLimits(given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]): [string, JsonValue] => [
      SPELLINGS.get(name) ?? name,
      valueAs('number', textOf(value)) ?? value,
    ]),
  )
}

const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['max_turns', 'turns'],
  ['max_tokens', 'tokens'],
  ['spend', 'spend_usd'],
])
