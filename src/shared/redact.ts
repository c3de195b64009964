import type { JsonValue } from './json.ts'
import { isObject } from './json.ts'
import {
  LINE_END,
  broken,
  encodedCores,
  encodedLooks,
  longestPlain,
  spelling,
  writtenLooks,
} from './secret-looks.ts'

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

/** What is looked for, and what stands in its place. */
type Mark = readonly [look: string, mark: string]

/** A value however it is written, by its length: the longest is looked for first. */
interface Spelled {
  readonly look: string | RegExp
  /** What is in every text that it is in: found faster. */
  readonly holds: string
  readonly length: number
  readonly mark: string
}

/** A secret inside a larger text looks different in each encoding; each look is replaced by `[REDACTED:name]`. */
export function createRedact(secrets: Iterable<readonly [name: string, value: string]>): Redact {
  const written: Mark[] = []
  const spelled: Spelled[] = []
  const encoded: Mark[] = []
  const cores: Mark[] = []
  for (const [name, value] of secrets) {
    const mark = `[REDACTED:${name}]`
    for (const part of partsOf(value)) {
      spelled.push({ look: spelling(part) ?? part, holds: longestPlain(part), length: part.length, mark })
      for (const look of writtenLooks(part)) written.push([look, mark])
      for (const look of encodedLooks(part)) encoded.push([look, mark])
      for (const look of encodedCores(part)) cores.push([look, mark])
    }
  }
  if (written.length === 0) return keepAll
  const parts = encoded.map(([look, mark]) => ({ look, holds: '', length: look.length, mark }))
  const ordered = [...spelled, ...parts].toSorted((a, b) => b.length - a.length)
  const beginnings = [...written, ...encoded].toSorted(([a], [b]) => b.length - a.length)
  const whole = (value: string): string => {
    const left = ordered.reduce(
      (text, { look, holds, mark }) => (text.includes(holds) ? text.replaceAll(look, mark) : text),
      value,
    )
    return withoutBroken(left, cores)
  }
  /** A secret made of digits comes back as a number from a service that reads it so. */
  const number = (value: number): JsonValue => {
    const digits = String(value)
    const left = whole(digits)
    return left === digits ? value : left
  }
  const redact = (value: JsonValue, text: (value: string) => string): JsonValue => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return number(value)
    if (Array.isArray(value)) return value.map((item: JsonValue) => redact(item, text))
    if (isObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [whole(key), redact(item, text)]))
    return value
  }
  const cut = (value: string): string => withoutBeginning(whole(value), beginnings)
  return (value, isCut = false) => redact(value, isCut ? cut : whole)
}

/** What is encoded comes in lines: looked for only where it is there once they are joined. */
function withoutBroken(text: string, encoded: readonly Mark[]): string {
  if (!text.includes('\n')) return text
  const joined = text.replaceAll(LINE_END, '')
  return encoded.reduce(
    (left, [look, mark]) => (joined.includes(look) ? left.replaceAll(broken(look), mark) : left),
    text,
  )
}

/** As much of a secret as a text ends in when it was cut in the middle of it. */
function withoutBeginning(text: string, marks: readonly Mark[]): string {
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

export const SECRET_KEY = /authorization|password|passwd|secret|token|api[_-]?key|cookie|credential/i

/** As JSON; a text, or a list of them, under a key that is named like a secret is not written out. */
export function withoutSecretKeys(value: unknown): string {
  const text = JSON.stringify(value)
  // A look at all of it takes a fraction of asking for every key.
  return SECRET_KEY.test(text) ? JSON.stringify(value, hideBySecretKey) : text
}

/** The same, for `JSON.stringify`. */
export function hideBySecretKey(key: string, value: unknown): unknown {
  if (!SECRET_KEY.test(key)) return value
  if (Array.isArray(value))
    return value.map((item: unknown) => (typeof item === 'string' ? '[REDACTED]' : item))
  return typeof value === 'string' ? '[REDACTED]' : value
}
