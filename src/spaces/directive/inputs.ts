import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { canonicalJson, isUnsafeKey, parsePlain } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { keyOf, typeOf } from '../source/declared.ts'
import type { DirectiveInput } from './model.ts'
import type { Note } from './note.ts'
import { meant } from './note.ts'
import { parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { canBeFilled } from './placeholders.ts'
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
      throw parseFault(
        where,
        `the input "${name}" is declared twice, first in line ${before.place.line}`,
        place,
        {
          hint: 'Remove one of them',
        },
      )
    found.set(name, { input: inputOf(name, given, (message) => note(place, message)), place })
  }
  return [...found.values()].map(({ input }) => input)
}

const INPUT_KEYS = ['name', 'type', 'required', 'default', 'enum', 'description'] as const
/** What JSON Schema can say of a value besides, and what others write for people. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `title examples format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
  items prefixItems contains minItems maxItems uniqueItems properties additionalProperties patternProperties
  propertyNames minProperties maxProperties const oneOf anyOf allOf not deprecated example`.split(/\s+/),
)
/** Those that are no text: an attribute is always written as one. */
const NUMBERS = /^(?:min|max|exclusiveM|multipleOf)/
const FLAGS = /^(?:uniqueItems|deprecated)$/
const PARTS =
  /^(?:items|contains|properties|additionalProperties|patternProperties|propertyNames|not|oneOf|anyOf|allOf|prefixItems)$/

function quoted(name: string): string {
  return `"${name}"`
}

type Say = (message: string) => void

function inputOf(name: string, given: JsonObject, say: Say): DirectiveInput {
  const { name: _name, type: _type, required = false, description, ...others } = given
  const { default: fallback, enum: choices, ...rest } = others
  const schema = schemaIn(name, rest, say)
  for (const key of Object.keys(schema).filter((one) => !KEYWORDS.has(one)))
    say(`"${key}" of the input "${name}" is not known: without effect${meant(key, INPUT_KEYS, quoted)}`)
  const type = typeIn(name, given, say)
  const isRequired = valueAs('boolean', required)
  if (isRequired === undefined)
    say(`"required" of the input "${name}" is neither true nor false: read as false`)
  const as = (value: JsonValue, what: string): readonly JsonValue[] => {
    const converted = valueAs(type, value)
    if (converted !== undefined) return [converted]
    say(`${what} of the input "${name}" is not of type ${type}: it is left out`)
    return []
  }
  const values = choicesIn(choices ?? null).flatMap((choice) => as(choice, `"${textOf(choice)}"`))
  const [otherwise] = fallback === undefined || fallback === null ? [] : as(fallback, 'the default')
  const standard = otherwise === undefined || isAmong(otherwise, values) ? otherwise : undefined
  if (standard !== otherwise) say(`the default of the input "${name}" is none of its values: it is left out`)
  if (!canBeFilled(name))
    say(
      `the input "${name}" cannot be filled in by its name: use letters, digits, "_" and "-", a letter first`,
    )
  return {
    name,
    type,
    // Whoever has a default need not be given.
    required: isRequired === true && standard === undefined,
    ...keyOf('default', standard),
    ...keyOf('enum', values.length === 0 ? undefined : values),
    description: textOf(description).replaceAll(/\s+/g, ' ').trim(),
    ...(Object.keys(schema).length === 0 ? {} : { schema }),
  }
}

/** What its schema says, each of the type it has there; what cannot be read as that is left out. */
function schemaIn(name: string, rest: JsonObject, say: Say): JsonObject {
  return Object.fromEntries(
    Object.entries(rest).flatMap(([key, value]) => {
      const read = typeof value === 'string' ? keywordValue(key, value) : value
      if (read === undefined) say(`"${key}" of the input "${name}" cannot be read: it is left out`)
      return read === undefined ? [] : [[key, read] as const]
    }),
  )
}

function keywordValue(key: string, text: string): JsonValue | undefined {
  if (NUMBERS.test(key)) return valueAs('number', text)
  if (FLAGS.test(key)) return valueAs('boolean', text)
  return PARTS.test(key) ? parsePlain(text) : text
}

/** Where no values are named, any will do. */
function isAmong(value: JsonValue, values: readonly JsonValue[]): boolean {
  return values.length === 0 || values.some((one) => canonicalJson(one) === canonicalJson(value))
}

function typeIn(name: string, { type: word = 'string' }: JsonObject, say: Say): DirectiveInput['type'] {
  const read = typeOf(textOf(word))
  const type = TYPES.find((known) => known === read)
  if (type === undefined) {
    const probably = meant(textOf(word), TYPES, quoted) || `: it may be ${TYPES.join(', ')}`
    say(`the type "${textOf(word)}" of the input "${name}" is not known: it is read as a text${probably}`)
  }
  return type ?? 'string'
}

function choicesIn(given: JsonValue): readonly JsonValue[] {
  if (given === null) return []
  return Array.isArray(given) ? given : wordsIn(textOf(given))
}

/** An input as a parameter of the manifest. */
export function parameterOf({ description, schema, ...input }: DirectiveInput): JsonObject {
  return { ...schema, ...input, ...(description === '' ? {} : { description }) }
}
