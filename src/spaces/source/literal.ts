import { KiwiError } from '../../shared/errors.ts'
import type { JsonValue } from '../../shared/json.ts'
import { isUnsafeKey } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'

/** How the literals of a language are spelled. Patterns are sticky. */
export interface Dialect {
  /** Blanks and comments. */
  readonly gap: RegExp
  readonly words: ReadonlyMap<string, JsonValue>
  /** A string at this place; null when there is none, or one that is computed. */
  readonly string: (source: string, at: number) => Literal | null
  /** `(a, b)` is a list, `(a)` is a. */
  readonly hasTuples: boolean
  /** `{a: 1}` has the key "a", and strings side by side are not one. */
  readonly hasBareKeys: boolean
}

export interface Literal {
  readonly value: JsonValue
  readonly end: number
}

/** Reads the value that is written at a place of a source; null when it is computed, which is never done. */
export type Literals = (at: number) => Literal | null

const NUMBER =
  /([+-]?)\s*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)(?![\w.])/y
const WORD = /[A-Za-z_$][\w$]*/y
const CLOSING: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}' }

/** One pass, no recursion deeper than the limit of every document, nothing evaluated. A key that is there twice is a fault. */
export function createLiterals(source: string, dialect: Dialect, where: string): Literals {
  const fault = (reason: string, at: number): KiwiError => {
    const before = source.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    return new KiwiError('PARSE_ERROR', `Cannot read "${where}": ${reason} (line ${line}, column ${column})`)
  }
  const match = (pattern: RegExp, at: number): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  const skip = (at: number): number => at + (match(dialect.gap, at)?.[0].length ?? 0)

  const read = (start: number, depth: number): Literal | null => {
    const at = skip(start)
    const first = source.charAt(at)
    if (first === '[' || first === '{' || (first === '(' && dialect.hasTuples)) {
      if (depth >= LIMITS.nesting) {
        throw new KiwiError(
          'TOO_DEEP',
          `Cannot read "${where}": it is nested deeper than ${LIMITS.nesting} levels`,
        )
      }
      return first === '{' ? readObject(at, depth + 1) : readList(at, depth + 1)
    }
    return readStrings(at) ?? readNumber(at) ?? readWord(at)
  }

  /** Strings side by side are one. */
  const readStrings = (at: number): Literal | null => {
    const first = dialect.string(source, at)
    if (first === null || dialect.hasBareKeys) return first
    const parts = [first.value]
    let { end } = first
    for (
      let next = dialect.string(source, skip(end));
      next !== null;
      next = dialect.string(source, skip(end))
    ) {
      parts.push(next.value)
      end = next.end
    }
    return { value: parts.join(''), end }
  }

  const readNumber = (at: number): Literal | null => {
    const [whole, sign, digits] = match(NUMBER, at) ?? []
    if (whole === undefined || digits === undefined) return null
    const value = Number(digits.replaceAll('_', '')) * (sign === '-' ? -1 : 1)
    const isKept = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
    return isKept ? { value: value === 0 ? 0 : value, end: at + whole.length } : null
  }

  const readWord = (at: number): Literal | null => {
    const [word] = match(WORD, at) ?? []
    const value = word === undefined ? undefined : dialect.words.get(word)
    return word === undefined || value === undefined ? null : { value, end: at + word.length }
  }

  /** `[a, b]`, and `(a, b)` where `(a)` is what it holds. */
  const readList = (open: number, depth: number): Literal | null => {
    const close = CLOSING[source.charAt(open)]
    const items: JsonValue[] = []
    let hasComma = false
    for (let at = skip(open + 1); ;) {
      if (source.charAt(at) === close) {
        const [only = null] = items
        const isGroup = close === ')' && items.length === 1 && !hasComma
        return { value: isGroup ? only : items, end: at + 1 }
      }
      const item = read(at, depth)
      if (item === null) return null
      items.push(item.value)
      at = skip(item.end)
      if (source.charAt(at) === ',') {
        hasComma = true
        at = skip(at + 1)
      } else if (source.charAt(at) !== close) return null
    }
  }

  const readObject = (open: number, depth: number): Literal | null => {
    const entries = new Map<string, JsonValue>()
    for (let at = skip(open + 1); ;) {
      if (source.charAt(at) === '}') return { value: Object.fromEntries(entries), end: at + 1 }
      const key = readKey(at)
      if (key === null || source.charAt(skip(key.end)) !== ':') return null
      if (isUnsafeKey(key.name)) throw fault(`"${key.name}" is not allowed as a key`, at)
      if (entries.has(key.name)) throw fault(`the key "${key.name}" is there twice`, at)
      const item = read(skip(key.end) + 1, depth)
      if (item === null) return null
      entries.set(key.name, item.value)
      at = skip(item.end)
      if (source.charAt(at) === ',') at = skip(at + 1)
      else if (source.charAt(at) !== '}') return null
    }
  }

  const readKey = (at: number): { name: string; end: number } | null => {
    const [bare] = (dialect.hasBareKeys ? match(WORD, at) : null) ?? []
    if (bare !== undefined) return { name: bare, end: at + bare.length }
    const key = readStrings(at) ?? readNumber(at)
    return key === null ? null : { name: String(key.value), end: key.end }
  }

  return (at) => read(at, 0)
}
