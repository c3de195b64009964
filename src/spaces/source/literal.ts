import { KiwiError } from '../../shared/errors.ts'
import type { JsonValue } from '../../shared/json.ts'
import { isUnsafeKey } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { textOf } from '../../shared/template.ts'

/** How the literals of a language are spelled. Patterns are sticky. */
export interface Dialect {
  /** Blanks and comments. */
  readonly gap: RegExp
  readonly words: ReadonlyMap<string, JsonValue>
  /** A string at this place; null when there is none, or one that is computed. */
  readonly string: (source: string, at: number) => Text | null
  /** `(a, b)` is a list, `(a)` is a, and strings side by side are one. */
  readonly isPython: boolean
}

interface Literal {
  readonly value: JsonValue
  readonly end: number
}

export interface Text extends Literal {
  readonly value: string
}

/**
 * Reads the value that is written at a place of a source; null when it is computed, which is never done. Outside of
 * brackets a value ends with its line.
 */
export type Literals = (at: number, isInBrackets?: boolean) => Literal | null

/** One pass, no recursion deeper than the limit of every document, nothing evaluated. A key that is there twice is a fault. */
export function createLiterals(source: string, dialect: Dialect, where: string): Literals {
  return (at, isInBrackets = false) => read({ source, dialect, where, isInBrackets }, at, 0)
}

interface Writing {
  readonly source: string
  readonly dialect: Dialect
  readonly where: string
  readonly isInBrackets: boolean
}

function read(writing: Writing, start: number, depth: number): Literal | null {
  const { source, dialect, where } = writing
  const at = skip(writing, start)
  const first = source.charAt(at)
  if (first !== '[' && first !== '{' && !(first === '(' && dialect.isPython)) {
    const mayBreak = depth > 0 || writing.isInBrackets
    return readText(writing, at, mayBreak) ?? readNumber(source, at) ?? readWord(writing, at)
  }
  if (depth >= LIMITS.nesting) {
    const reason = `it is nested deeper than ${LIMITS.nesting} levels`
    throw new KiwiError('TOO_DEEP', `Cannot read "${where}": ${reason} (${placeOf(source, at)})`)
  }
  return first === '{' ? readObject(writing, at, depth + 1) : readList(writing, at, depth + 1)
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

function skip({ source, dialect }: Writing, at: number): number {
  return at + (matchAt(dialect.gap, source, at)?.[0].length ?? 0)
}

const LINE_END = /(?<!\\)\r?\n/

function readText(writing: Writing, at: number, mayBreak: boolean): Text | null {
  const { source, dialect } = writing
  const first = dialect.string(source, at)
  if (first === null || !dialect.isPython) return first
  const parts = [first.value]
  let { end } = first
  for (;;) {
    const after = skip(writing, end)
    const isBroken = !mayBreak && LINE_END.test(source.slice(end, after))
    const next = isBroken ? null : dialect.string(source, after)
    if (next === null) return { value: parts.join(''), end }
    parts.push(next.value)
    end = next.end
  }
}

const NUMBER =
  /([+-]?)\s*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)(?![\w.])/y

/** A number that could not be kept exactly is taken for one that is computed. */
function readNumber(source: string, at: number): Literal | null {
  const [whole, sign, digits] = matchAt(NUMBER, source, at) ?? []
  if (whole === undefined || digits === undefined) return null
  const size = Number(digits.replaceAll('_', ''))
  const value = sign === '-' && size !== 0 ? -size : size
  const isWhole = Number.isInteger(value) && !/[.e]/i.test(digits.replace(/^0x.*/i, ''))
  const isKept = Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value))
  return isKept ? { value, end: at + whole.length } : null
}

const WORD = /[A-Za-z_$][\w$]*/y

function readWord({ source, dialect }: Writing, at: number): Literal | null {
  const [word] = matchAt(WORD, source, at) ?? []
  const value = word === undefined ? undefined : dialect.words.get(word)
  return word === undefined || value === undefined ? null : { value, end: at + word.length }
}

function readList(writing: Writing, open: number, depth: number): Literal | null {
  const { source } = writing
  const close = source.charAt(open) === '[' ? ']' : ')'
  const items: JsonValue[] = []
  let hasComma = false
  let at = skip(writing, open + 1)
  while (source.charAt(at) !== close) {
    const item = read(writing, at, depth)
    const next = item === null ? null : afterComma(writing, item.end, close)
    if (item === null || next === null) return null
    items.push(item.value)
    hasComma = source.charAt(skip(writing, item.end)) === ','
    at = next
  }
  const [only = null] = items
  const isGroup = close === ')' && items.length === 1 && !hasComma
  return { value: isGroup ? only : items, end: at + 1 }
}

function readObject(writing: Writing, open: number, depth: number): Literal | null {
  const { source, where } = writing
  const entries = new Map<string, JsonValue>()
  let at = skip(writing, open + 1)
  while (source.charAt(at) !== '}') {
    const key = readKey(writing, at)
    const colon = key === null ? 0 : skip(writing, key.end)
    if (key === null || source.charAt(colon) !== ':') return null
    const isTwice = entries.has(key.value)
    if (isTwice || isUnsafeKey(key.value)) {
      const reason = isTwice
        ? `the key "${key.value}" is there twice`
        : `"${key.value}" is not allowed as a key`
      throw new KiwiError('PARSE_ERROR', `Cannot read "${where}": ${reason} (${placeOf(source, at)})`)
    }
    const item = read(writing, colon + 1, depth)
    const next = item === null ? null : afterComma(writing, item.end, '}')
    if (item === null || next === null) return null
    entries.set(key.value, item.value)
    at = next
  }
  return { value: Object.fromEntries(entries), end: at + 1 }
}

/** Where the next value begins, or the bracket that closes; null when something else follows. */
function afterComma(writing: Writing, end: number, close: string): number | null {
  const at = skip(writing, end)
  const mark = writing.source.charAt(at)
  if (mark === ',') return skip(writing, at + 1)
  return mark === close ? at : null
}

function readKey(writing: Writing, at: number): Text | null {
  const { source, dialect } = writing
  const [bare] = (dialect.isPython ? null : matchAt(WORD, source, at)) ?? []
  if (bare !== undefined) return { value: bare, end: at + bare.length }
  const key = readText(writing, at, true) ?? readNumber(source, at)
  return key === null ? null : { value: textOf(key.value), end: key.end }
}

function placeOf(source: string, at: number): string {
  const before = source.slice(0, at)
  return `line ${before.split('\n').length}, column ${at - before.lastIndexOf('\n')}`
}
