import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

/** What of a form asks for a credential, in words; null for a form that does not. */
export function credentialField({ message, requestedSchema }: JsonObject): string | null {
  const named = [...namesIn(requestedSchema ?? null)].find(isCredential)
  if (named !== undefined) return named
  const told = [message ?? '', ...textsIn(requestedSchema ?? null)].find(
    (text) => typeof text === 'string' && DEMANDS.test(folded(text)),
  )
  return typeof told === 'string' && hasFreeText(requestedSchema ?? null) ? told.slice(0, 80) : null
}

const WORDS =
  'pass ?words?|passwd|pwd|pass ?phrase|pass ?code|secrets?|credentials?|(?:api|access|private|secret|signing|encryption|ssh|licen[cs]e) ?keys?|(?:access|auth|bearer|refresh|session|id|api|personal access|security|bot)? ?token|bearer|otp|totp|one time (?:code|pass\\w*)|(?:2fa|mfa|verification|recovery|backup|security) codes?|(?:seed|recovery) phrase|mnemonic|pin(?: code)?|cvv|cvc|card number'
const NAMED = new RegExp(`(?:^| )(?:${WORDS})(?: |$)`)
/** A text says all kinds of things; what it asks for stands behind a verb, or is all it says. */
const DEMANDS = new RegExp(
  `(?:enter|provide|type|paste|give|supply|submit|insert|fill in|share|send|confirm|need|require|your|what is|whats)\\b.{0,60}(?:^| )(?:${WORDS})(?: |$)|^(?: ?(?:${WORDS}) ?)+$`,
)

function isCredential(name: string): boolean {
  return NAMED.test(folded(name)) || ENDS.test(joined(name))
}

/** `p-a-s-s-w-o-r-d`, `userpassword` */
const ENDS =
  /(?:passwords?|passwd|passphrase|(?:api|secret|access|private)keys?|token|credentials?|^secret|^otp|^pin)$/

/** In words, whatever they are written like: `apiKey`, `API_KEY`, `ＡＰＩ key` and one with invisible signs are the same. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\p{C}\p{Variation_Selector}\p{Mn}]/gu, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll("'", '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function joined(text: string): string {
  return folded(text).replaceAll(' ', '')
}

const NAMES: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** Every name a value could go by, however deep it is hidden; of a yes or no there is nothing to steal. */
function* namesIn(schema: JsonValue, isNames = false): Generator<string> {
  if (Array.isArray(schema)) {
    for (const part of schema) yield* namesIn(part)
    return
  }
  if (!isJsonObject(schema)) return
  for (const [key, part] of Object.entries(schema)) {
    if (isNames && !(isJsonObject(part) && part['type'] === 'boolean')) yield key
    if (key === 'format' && part === 'password') yield 'password'
    if (key === 'title' && typeof part === 'string' && schema['type'] !== 'boolean') yield part
    yield* namesIn(part, !isNames && NAMES.has(key))
  }
}

function* textsIn(schema: JsonValue): Generator<string> {
  if (Array.isArray(schema)) for (const part of schema) yield* textsIn(part)
  if (!isJsonObject(schema)) return
  for (const [key, part] of Object.entries(schema)) {
    if (typeof part !== 'string') yield* textsIn(part)
    else if (key === 'description' && schema['type'] !== 'boolean') yield part
  }
}

/** Whether anything can be typed in: to choose, or to say yes, gives nothing away. */
function hasFreeText(schema: JsonValue): boolean {
  if (Array.isArray(schema)) return schema.some(hasFreeText)
  if (!isJsonObject(schema)) return false
  const isChoice =
    schema['enum'] !== undefined || schema['oneOf'] !== undefined || schema['const'] !== undefined
  const isTyped = schema['type'] === 'string' || schema['type'] === 'number' || schema['type'] === 'integer'
  return (isTyped && !isChoice) || Object.values(schema).some(hasFreeText)
}
