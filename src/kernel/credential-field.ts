import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { visible } from '../shared/visible.ts'

/** What of a form asks for a credential, in words: `field "password"`; null for a form that does not. */
export function credentialField({ message, requestedSchema = null }: JsonObject): string | null {
  for (const { name, schema } of fieldsIn(requestedSchema)) {
    const taken = takenBy(schema)
    if (isJsonObject(schema) && schema['format'] === 'password') return fieldOf(name)
    if (isNamed(name, taken)) return fieldOf(name)
    const { title, description } = isJsonObject(schema) ? schema : {}
    if (isNamed(title, taken)) return fieldOf(name, title)
    if (isDemand(description, taken)) return fieldOf(name, description)
  }
  const { title, description } = isJsonObject(requestedSchema) ? requestedSchema : {}
  const taken = takenBy(requestedSchema)
  const told = [message, title, description].find((text) => isDemand(text, taken))
  return told === undefined ? null : `message (${quoted(told)})`
}

/** What can be typed into a field: to choose, or to say yes, gives nothing away. */
type Taken = 'text' | 'number' | 'nothing'

const NUMBERS =
  'otp|totp|one time (?:code|pass\\w*)|(?:2fa|mfa|verification|recovery|backup|security) codes?|pin(?: code| number)?|cvv|cvc|card number'
const TEXTS =
  'pass ?words?|passwd|pwd|pass ?phrase|pass ?code|secrets?|credentials?|(?:api|access|private|secret|signing|encryption|ssh|licen[cs]e) ?keys?|(?:access|auth|bearer|refresh|session|id|api|personal access|security|bot)? ?token|bearer|(?:seed|recovery) phrase|mnemonic'
const WORDS = { text: `${TEXTS}|${NUMBERS}`, number: NUMBERS }

const VERBS = 'enter|provide|type|paste|give|supply|submit|insert|fill in|share|send|confirm'

interface Signs {
  readonly named: RegExp
  /** A text says all kinds of things; what it asks for stands behind a verb, or is all it says. */
  readonly demanded: RegExp
  /** `no password is needed`, `not your password` */
  readonly absent: RegExp
}

const signsOf = (words: string): Signs => ({
  named: new RegExp(`(?:^| )(?:${words})(?: |$)`),
  demanded: new RegExp(
    `(?:${VERBS}|need|require|your|what is|whats)\\b.{0,60}(?:^| )(?:${words})(?: |$)|^(?: ?(?:${words}) ?)+$`,
  ),
  absent: new RegExp(`\\b(?:no|not|without)(?: (?:an?|any|the|your))?(?: (?:${words})(?= |$))`, 'g'),
})
const SIGNS = { text: signsOf(WORDS.text), number: signsOf(WORDS.number) }

/** What is told not to be given, up to where something else is asked for. */
const FORBIDDEN = new RegExp(
  `\\b(?:not|never|dont|wont|cannot|cant|mustnt|shouldnt)(?: (?:ever|please|us|to))* (?:${VERBS}|ask|need|require|want|use|store|include)\\b(?:(?!\\b(?:${VERBS}|but|except|unless|until|before|only|other than|instead)\\b).)*`,
  'g',
)
/** Where one thing that is said ends and another begins. */
const ENDS_OF_CLAUSES = /[.;:!?](?=\s|$)|[()[\]\n]/

function isNamed(name: JsonValue | undefined, taken: Taken): name is string {
  if (typeof name !== 'string' || taken === 'nothing') return false
  const words = folded(name)
  return SIGNS[taken].named.test(words) || JOINED[taken].test(words.replaceAll(' ', ''))
}

/** `p-a-s-s-w-o-r-d`, `userpassword` */
const JOINED = {
  text: /(?:passwords?|passwd|passphrase|(?:api|secret|access|private)keys?|token|credentials?|^secret|^otp|^pin)$/,
  number: /^(?:otp|pin)$/,
}

function isDemand(text: JsonValue | undefined, taken: Taken): text is string {
  if (typeof text !== 'string' || taken === 'nothing') return false
  return SIGNS[taken].demanded.test(folded(unforbidden(text, SIGNS[taken])))
}

/** Without what it says is not wanted. */
function unforbidden(text: string, { absent }: Signs): string {
  if (!NEGATES.test(text)) return text
  const clauses = text.normalize('NFKC').split(ENDS_OF_CLAUSES)
  return clauses.map((clause) => folded(clause).replaceAll(FORBIDDEN, ' ').replaceAll(absent, ' ')).join(' ')
}

const NEGATES = /n[o'’]t|never|\bno\b|without|dont/i

/** In words, whatever they are written like: `apiKey`, `API_KEY`, `ＡＰＩ key` and one with invisible signs are the same. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\p{C}\p{Variation_Selector}\p{Mn}]/gu, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

interface Field {
  readonly name: string
  readonly schema: JsonValue
}

const NAMES: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** Every name a value could go by, however deep it is hidden; what is in a field without one goes by the field's. */
function* fieldsIn(schema: JsonValue, name: string | null = null): Generator<Field> {
  if (Array.isArray(schema)) for (const part of schema) yield* partsIn(part, name)
  if (!isJsonObject(schema)) return
  for (const [key, part] of Object.entries(schema)) {
    if (!NAMES.has(key) || !isJsonObject(part)) yield* partsIn(part, name)
    else
      for (const [inner, field] of Object.entries(part)) {
        yield { name: inner, schema: field }
        yield* fieldsIn(field, inner)
      }
  }
}

function* partsIn(part: JsonValue, name: string | null): Generator<Field> {
  if (isJsonObject(part)) yield { name: name ?? '', schema: part }
  yield* fieldsIn(part, name)
}

const RANK: readonly Taken[] = ['nothing', 'number', 'text']

function takenBy(schema: JsonValue | undefined): Taken {
  if (!isJsonObject(schema)) return 'text'
  const { type, oneOf, anyOf, items, properties } = schema
  if (type === 'boolean' || type === 'null' || isChoice(schema)) return 'nothing'
  if (type === 'number' || type === 'integer') return 'number'
  const branches = type === undefined ? (oneOf ?? anyOf) : type === 'array' ? items : undefined
  if (Array.isArray(branches)) return most(branches)
  if (type === 'array') return takenBy(items)
  if (type !== 'object' || !isJsonObject(properties)) return 'text'
  // Other fields than these may be hidden elsewhere in it.
  const isAll = Object.keys(schema).every((key) => PLAIN.has(key))
  return isAll ? most(Object.values(properties)) : 'text'
}

/** As forms are shown, only values that are all named are chosen from; anything else may be typed. */
function isChoice({ type, enum: values, oneOf, anyOf, ...schema }: JsonObject): boolean {
  if (type === undefined && schema['const'] !== undefined) return true
  if (Array.isArray(values) && values.length > 0) return true
  const branches = oneOf ?? anyOf
  if (type !== 'string' || !Array.isArray(branches) || branches.length === 0) return false
  return branches.every((branch) => isJsonObject(branch) && isChoice(branch))
}

const PLAIN: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'title',
  'description',
  '$schema',
])

function most(schemas: readonly JsonValue[]): Taken {
  if (schemas.length === 0) return 'text'
  return RANK[Math.max(...schemas.map((schema) => RANK.indexOf(takenBy(schema))))] ?? 'text'
}

function fieldOf(name: string, told?: string): string {
  return told === undefined ? `field ${quoted(name)}` : `field ${quoted(name)} (${quoted(told)})`
}

const SAID_CHARACTERS = 80

/** Ends at a word. */
function quoted(text: string): string {
  if (text.length <= SAID_CHARACTERS) return `"${visible(text)}"`
  const cut = text.slice(0, SAID_CHARACTERS)
  const end = cut.search(/\s\S*$/)
  return `"${visible(end > 0 ? cut.slice(0, end) : cut)}…"`
}
