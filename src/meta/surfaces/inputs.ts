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
  const { inputs: all } = checkInputs(directive, Object.fromEntries(given))
  const names = new Set(given.map(([name]) => name))
  return { all, given: Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name))) }
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
