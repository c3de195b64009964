import { checkInputs } from '../../kernel/directive/check-inputs.ts'
import type { JsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Directive, DirectiveInput } from '../../spaces/directive/model.ts'

interface ReadInputs {
  /** What was given, as the directive means it. */
  readonly given: JsonObject
  /** The same with what the directive itself says for those that were left out. */
  readonly all: JsonObject
}

/** The arguments of a prompt, which come as texts, held to what a run is held to. */
export function readInputs(directive: Directive, args: Readonly<Record<string, string>>): ReadInputs {
  const given = Object.entries(args).filter(([name, text]) => !isLeftEmpty(directive, name, text))
  const { inputs: all } = checkInputs(directive, Object.fromEntries(given), AS_ARGUMENTS)
  const names = new Set(given.map(([name]) => name))
  return { all, given: Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name))) }
}

const AS_ARGUMENTS =
  'Give each of them as an argument of the prompt, and lists and objects as JSON, such as ["a", "b"]'

/** What a text has to be to count for an input; nothing for one that is a text itself. */
export function wordsOfType({ type, enum: values }: DirectiveInput): string {
  if (values !== undefined) return `one of ${values.map(textOf).join(', ')}`
  return WORDS[type]
}

const WORDS: Readonly<Record<DirectiveInput['type'], string>> = {
  string: '',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list as JSON, such as ["a", "b"]',
  object: 'an object as JSON, such as {"a": 1}',
}

/** A client that shows a form sends what was left empty as an empty text. */
function isLeftEmpty({ inputs }: Directive, name: string, text: string): boolean {
  const input = inputs.find((one) => one.name === name)
  return text === '' && !(input?.required === true && input.type === 'string')
}

/** The values it may have, as they are typed; none where there are too many to name. */
export function valuesOf({ type, enum: values }: DirectiveInput): readonly string[] {
  if (values !== undefined) return values.map(textOf)
  return type === 'boolean' ? ['true', 'false'] : []
}
