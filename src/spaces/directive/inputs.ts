import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isUnsafeKey } from '../../shared/json.ts'
import { typeOf } from '../source/declared.ts'
import type { DirectiveInput } from './model.ts'
import type { Note } from './note.ts'
import { parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { valueAs, wordsIn } from './values.ts'

/** An input as its author declared it, in whichever dialect. */
export interface DeclaredInput {
  readonly given: JsonObject
  readonly place: Position
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const

/** The inputs of a directive. One that is declared twice is refused; what of one makes no sense is said, and left out. */
export function readInputs(
  declared: readonly DeclaredInput[],
  where: string,
  note: Note,
): readonly DirectiveInput[] {
  const found = new Map<string, { readonly input: DirectiveInput; readonly place: Position }>()
  for (const { given, place } of declared) {
    const { name } = given
    if (typeof name !== 'string' || name.trim() === '' || isUnsafeKey(name) || name.length > 128) {
      note(place, 'an input has no name that can be used: it is left out')
      continue
    }
    const before = found.get(name)
    if (before !== undefined)
      throw parseFault(where, `the input "${name}" is declared twice, first in line ${before.place.line}`, place, {
        hint: 'Remove one of them',
      })
    found.set(name, { input: inputOf(name, given, (message) => note(place, message)), place })
  }
  return [...found.values()].map(({ input }) => input)
}

function inputOf(name: string, given: JsonObject, note: (message: string) => void): DirectiveInput {
  const { name: _name, type: word = 'string', required = false, description = '', ...others } = given
  const { default: fallback, enum: choices, ...schema } = others
  const read = typeOf(typeof word === 'string' ? word : '')
  const type = TYPES.find((known) => known === read)
  if (type === undefined) note(`the input "${name}" has a type that is not known: it is read as a text`)
  const isRequired = valueAs('boolean', required)
  if (isRequired === undefined) note(`"required" of the input "${name}" is neither true nor false: read as false`)
  const wanted = type ?? 'string'
  const as = (value: JsonValue, what: string): readonly JsonValue[] => {
    const converted = valueAs(wanted, value)
    if (converted !== undefined) return [converted]
    note(`${what} of the input "${name}" is not of type ${wanted}: it is left out`)
    return []
  }
  const [standard] = fallback === undefined || fallback === null ? [] : as(fallback, 'the default')
  const listed = choices === undefined ? [] : Array.isArray(choices) ? choices : wordsIn(String(choices))
  const values = listed.flatMap((choice) => as(choice, `"${String(choice)}"`))
  return {
    name,
    type: wanted,
    required: isRequired === true,
    ...(standard === undefined ? {} : { default: standard }),
    ...(values.length === 0 ? {} : { enum: values }),
    description: typeof description === 'string' ? description.replaceAll(/\s+/g, ' ').trim() : '',
    ...(Object.keys(schema).length === 0 ? {} : { schema }),
  }
}

/** An input as a parameter of the manifest. */
export function parameterOf({ description, schema, ...input }: DirectiveInput): JsonObject {
  return { ...schema, ...input, ...(description === '' ? {} : { description }) }
}
