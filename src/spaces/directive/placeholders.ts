import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { DirectiveInput } from './model.ts'
import type { Note } from './note.ts'
import { meant } from './note.ts'
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
/** A text that is one placeholder and stands for the value itself; `${json(inputs.x)}` is always a text. */
const ALONE = new RegExp(
  [
    String.raw`^\$\{\s*inputs\.${NAME}\s*(\?\?[^{}]*)?\}$`,
    String.raw`^\{\{\s*${NAME}\s*\}\}$`,
    String.raw`^\{input:${NAME}\}$`,
    String.raw`^\{${NAME}\}$`,
  ].join('|'),
  'u',
)
const FILLED = new RegExp(`^${NAME}$`, 'u')

/** Whether a placeholder can name it. */
export function canBeFilled(name: string): boolean {
  return FILLED.test(name)
}

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
    const alone = aloneIn(one)
    if (alone === null || alone.hasOwn || !known.has(alone.name)) return true
    return (given.get(alone.name) ?? null) !== null
  }
  const fill = (one: JsonValue): JsonValue => {
    if (typeof one === 'string')
      return given.get(aloneIn(one)?.name ?? '') ?? fillPlaceholders(one, inputs, known)
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

/** Of a text that is one placeholder: its name, and whether it has a value of its own. */
function aloneIn(text: JsonValue): { readonly name: string; readonly hasOwn: boolean } | null {
  const found = typeof text === 'string' ? ALONE.exec(text) : null
  if (found === null) return null
  const [, spoken, own, twice, prefixed, plain] = found
  return { name: spoken ?? twice ?? prefixed ?? plain ?? '', hasOwn: own !== undefined }
}

/** Says which placeholders of the steps stay as they are, because nothing declares them. */
export function noteUnfilled(
  steps: readonly PlacedStep[],
  inputs: readonly DirectiveInput[],
  note: Note,
): void {
  const declared = new Set(inputs.map(({ name }) => name))
  for (const { step, place } of steps) {
    const { condition, description, action, calls } = step
    const text = `${condition ?? ''}\n${description ?? ''}\n${action ?? ''}\n${JSON.stringify(calls)}`
    const names = [...text.matchAll(PLACEHOLDER)].map(
      ([, spoken, , , json, twice, prefixed, plain]) => spoken ?? json ?? twice ?? prefixed ?? plain ?? '',
    )
    for (const name of [...new Set(names)].filter((one) => !declared.has(one)))
      note(
        place,
        `{${name}} is no input of it: it stays as it is written${meant(name, declared, braced)}`,
        name,
      )
  }
}

function braced(name: string): string {
  return `{${name}}`
}
