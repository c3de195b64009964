import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { canonicalJson } from '../../shared/json.ts'
import type { Directive, DirectiveInput } from '../../spaces/directive/model.ts'
import { convertText, isOf } from './convert-text.ts'

interface Checked {
  /** What was given, in the types that are declared, and defaults. */
  readonly inputs: JsonObject
  readonly warnings: readonly string[]
}

/** What a directive is begun with. All that is missing or wrong is named at once, each with what it is for. */
export function checkInputs({ name, inputs }: Directive, given: JsonObject, how = UNDER_PARAMETERS): Checked {
  const values = inputs.map((input) => [input, valueOf(input, given)] as const)
  const missing = values.filter(([input, value]) => input.required && value === undefined)
  const invalid = values.flatMap(([input, value]) => {
    const reason = value === undefined ? null : faultOf(input, value)
    return reason === null ? [] : [{ name: input.name, reason }]
  })
  if (missing.length > 0 || invalid.length > 0) throw inputsRefused(name, missing.map(toInput), invalid, how)
  const declared = new Set(inputs.map((input) => input.name))
  return {
    inputs: Object.fromEntries(
      values.flatMap(([input, value]) => (value === undefined ? [] : [[input.name, value]])),
    ),
    warnings: Object.keys(given)
      .filter((key) => !declared.has(key))
      .map((key) => `"${key.slice(0, 64)}" is no input of "${name}": it is not filled in anywhere`),
  }
}

const UNDER_PARAMETERS = 'Give each of them under parameters and send the call again; nothing was begun'

function toInput([input]: readonly [DirectiveInput, unknown]): DirectiveInput {
  return input
}

function valueOf(
  { name, type, default: otherwise }: DirectiveInput,
  given: JsonObject,
): JsonValue | undefined {
  const value = Object.hasOwn(given, name) ? given[name] : undefined
  if (value === undefined || value === null) return otherwise
  return typeof value === 'string' ? convertText(value, [type]) : value
}

function faultOf({ type, enum: allowed }: DirectiveInput, value: JsonValue): string | null {
  if (!isOf(type, value)) return `must be of type ${type}`
  if (allowed === undefined || allowed.some((one) => canonicalJson(one) === canonicalJson(value))) return null
  return `must be one of ${allowed.map((one) => JSON.stringify(one)).join(', ')}`
}

export function inputsRefused(
  directive: string,
  missing: readonly DirectiveInput[],
  invalid: readonly { readonly name: string; readonly reason: string }[],
  how = UNDER_PARAMETERS,
): KiwiError {
  const faults = [
    ...missing.map(
      ({ name, description }) => `"${name}" is missing${description === '' ? '' : ` (${description})`}`,
    ),
    ...invalid.map(({ name, reason }) => `"${name}" ${reason}`),
  ]
  const code = missing.length > 0 ? 'MISSING_INPUTS' : 'INVALID_PARAMETERS'
  return new KiwiError(code, `Cannot run "${directive}": ${faults.join('; ')}`, {
    hint: how,
    fix: { call: 'load', arguments: { item_type: 'directive', item_id: directive } },
    details: {
      missing: missing.map(({ name }) => name),
      missing_inputs: missing.map(({ name, type, description }) => ({ name, type, description })),
      invalid,
    },
  })
}
