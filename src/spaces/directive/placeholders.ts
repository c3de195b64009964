import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { DirectiveInput } from './model.ts'
import type { Note } from './note.ts'
import type { PlacedStep } from './steps.ts'

/** In any script. */
const NAME = String.raw`([\p{L}_][\p{L}\p{M}\p{N}_-]*)`
/** `${inputs.x}`, `${inputs.x ?? "default"}`, `${json(inputs.x)}`, `{{x}}`, `{input:x}`, `{x}`. */
const PLACEHOLDER = new RegExp(
  [
    String.raw`\$\{\s*inputs\.${NAME}\s*(?:\?\?\s*(?:"([^"{}]*)"|'([^'{}]*)')\s*)?\}`,
    String.raw`\$\{\s*json\(\s*inputs\.${NAME}\s*\)\s*\}`,
    String.raw`\{\{\s*${NAME}\s*\}\}`,
    String.raw`\{input:${NAME}\}`,
    String.raw`\{${NAME}\}`,
  ].join('|'),
  'gu',
)
const ALONE = new RegExp(String.raw`^\{${NAME}\}$`, 'u')

/**
 * Puts inputs into a text, once: what a value holds is never looked at again. Only what is declared is replaced; of
 * one without a value nothing is left unless its place has a value of its own.
 */
export function fillPlaceholders(
  text: string,
  inputs: JsonObject,
  declared: Iterable<string> = Object.keys(inputs),
): string {
  const known = new Set(declared)
  const given = new Map(Object.entries(inputs))
  return text.replaceAll(PLACEHOLDER, (whole: string, ...parts: readonly (string | undefined)[]) => {
    const [spoken, double, single, json, twice, prefixed, plain] = parts
    const name = spoken ?? json ?? twice ?? prefixed ?? plain ?? ''
    if (!known.has(name)) return whole
    const value = given.get(name)
    if (value === undefined || value === null) return double ?? single ?? (json === undefined ? '' : 'null')
    return json === undefined ? textOf(value) : JSON.stringify(value)
  })
}

/**
 * The same for all texts of a value, such as the parameters of a call. A text that is one placeholder becomes its value;
 * where that was not given, what is called has a default of its own.
 */
export function fillValue(
  value: JsonValue,
  inputs: JsonObject,
  declared: Iterable<string> = Object.keys(inputs),
): JsonValue {
  const known = new Set(declared)
  const given = new Map(Object.entries(inputs))
  const isLeft = (one: JsonValue): boolean => {
    const name = nameIn(one)
    return name === undefined || !known.has(name) || (given.get(name) ?? null) !== null
  }
  const fill = (one: JsonValue): JsonValue => {
    if (typeof one === 'string') return given.get(nameIn(one) ?? '') ?? fillPlaceholders(one, inputs, known)
    if (Array.isArray(one)) return one.filter(isLeft).map(fill)
    if (one === null || typeof one !== 'object') return one
    return Object.fromEntries(
      Object.entries(one)
        .filter(([, inner]) => isLeft(inner))
        .map(([key, inner]) => [key, fill(inner)]),
    )
  }
  return fill(value)
}

/** Of a text that is one placeholder. */
function nameIn(text: JsonValue): string | undefined {
  return typeof text === 'string' ? ALONE.exec(text)?.[1] : undefined
}

/** Says which placeholders of the steps stay as they are, because nothing declares them. */
export function noteUnfilled(
  steps: readonly PlacedStep[],
  inputs: readonly DirectiveInput[],
  note: Note,
): void {
  const declared = new Set(inputs.map(({ name }) => name))
  for (const { step, place } of steps) {
    const text = `${step.description ?? ''}\n${step.action ?? ''}\n${JSON.stringify(step.calls)}`
    const names = [...text.matchAll(PLACEHOLDER)].map(
      ([, spoken, , , json, twice, prefixed, plain]) => spoken ?? json ?? twice ?? prefixed ?? plain ?? '',
    )
    for (const name of new Set(names))
      if (!declared.has(name)) note(place, `{${name}} is no input of it: it stays as it is written`)
  }
}
