import type { JsonValue } from './json.ts'
import { isObject } from './json.ts'

/**
 * Takes live secrets out of whatever leaves a call, by value and in the common encodings. What was cut off may end in
 * the beginning of one.
 */
export type Redact = (value: JsonValue, isCut?: boolean) => JsonValue

/** For what holds no secret. */
export const keepAll: Redact = (value) => value

/** The one after the other. */
export function redactBoth(first: Redact, then: Redact): Redact {
  if (first === keepAll || first === then) return then
  return (value, isCut) => then(first(value, isCut), isCut)
}

/** Shorter values would turn ordinary text into marks. */
export const SHORTEST_SECRET = 8
/** Lines of a long value may be ordinary text, such as its first one; a marked one does little harm, but must be rare. */
const SHORTEST_LINE = 16

/** A secret inside a larger text looks different in each encoding; each look is replaced by `[REDACTED:name]`. */
export function createRedact(secrets: Iterable<readonly [name: string, value: string]>): Redact {
  const marks: (readonly [string, string])[] = []
  for (const [name, value] of secrets) {
    for (const part of partsOf(value)) {
      for (const look of looksOf(part)) marks.push([look, `[REDACTED:${name}]`])
    }
  }
  if (marks.length === 0) return keepAll
  const ordered = marks.toSorted(([a], [b]) => b.length - a.length)
  const whole = (value: string): string =>
    ordered.reduce((left, [look, mark]) => left.replaceAll(look, mark), value)
  /** A secret made of digits comes back as a number from a service that reads it so. */
  const number = (value: number): JsonValue => {
    const written = String(value)
    const left = whole(written)
    return left === written ? value : left
  }
  const redact = (value: JsonValue, text: (value: string) => string): JsonValue => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return number(value)
    if (Array.isArray(value)) return value.map((item: JsonValue) => redact(item, text))
    if (isObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [whole(key), redact(item, text)]))
    return value
  }
  const cut = (value: string): string => withoutBeginning(whole(value), ordered)
  return (value, isCut = false) => redact(value, isCut ? cut : whole)
}

/** As much of a secret as a text ends in when it was cut in the middle of it. */
function withoutBeginning(text: string, marks: readonly (readonly [string, string])[]): string {
  for (const [look, mark] of marks) {
    const tail = text.slice(-look.length)
    for (
      let at = tail.indexOf(look.slice(0, SHORTEST_SECRET));
      at >= 0;
      at = tail.indexOf(look.slice(0, SHORTEST_SECRET), at + 1)
    ) {
      if (look.startsWith(tail.slice(at))) return text.slice(0, text.length - tail.length + at) + mark
    }
  }
  return text
}

/**
 * What a tool writes of a value need not be the whole of it: white space around it goes first, and a key of several
 * lines comes back line by line.
 */
function partsOf(value: string): ReadonlySet<string> {
  const lines = value.split(/[\r\n]+/).filter((line) => line.length >= SHORTEST_LINE)
  return new Set([value, value.trim(), ...lines].filter((part) => part.length >= SHORTEST_SECRET))
}

function looksOf(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value)
  const json = JSON.stringify(value).slice(1, -1)
  const url = encodeURIComponent(value)
  return new Set([
    value,
    json,
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    url,
    url.replaceAll('%2F', '/'),
    url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ v: value }).toString().slice(2),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((shift) => base64Looks(bytes, shift)),
  ])
}

/**
 * Base64 depends on where the value starts in its group of three, so the characters that it alone decides are taken.
 * Where it is the end of what was encoded, that is the last one too, and the padding.
 */
function base64Looks(bytes: Buffer, shift: number): readonly string[] {
  const padded = Buffer.concat([Buffer.alloc(shift), bytes])
  const from = Math.ceil((shift * 8) / 6)
  const to = Math.floor((padded.length * 8) / 6)
  const padding = '='.repeat((3 - (padded.length % 3)) % 3)
  return (['base64', 'base64url'] as const).flatMap((encoding) => {
    const ended = padded.toString(encoding).slice(from).replaceAll('=', '')
    return [ended.slice(0, to - from), ended, ended + padding]
  })
}

export const SECRET_KEY = /authorization|password|passwd|secret|token|api[_-]?key|cookie|credential/i

/** For `JSON.stringify`: a text, or a list of them, under a key that is named like a secret is not written out. */
export function hideBySecretKey(key: string, value: unknown): unknown {
  if (!SECRET_KEY.test(key)) return value
  if (Array.isArray(value))
    return value.map((item: unknown) => (typeof item === 'string' ? '[REDACTED]' : item))
  return typeof value === 'string' ? '[REDACTED]' : value
}
