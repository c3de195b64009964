import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'

/** Where a value is, in the text of JSON that may hold comments and commas before a closing bracket. */
export interface JsonNode {
  readonly start: number
  readonly end: number
  /** Of an object; null for anything else. */
  readonly members: readonly JsonMember[] | null
}

export interface JsonMember {
  readonly key: string
  readonly start: number
  readonly value: JsonNode
  /** Where the comma behind it stands; null for none. */
  readonly comma: number | null
}

const BLANK = /(?:\s+|\uFEFF|\/\/[^\n]*|\/\*[^]*?\*\/)*/y
// oxlint-disable-next-line no-control-regex -- a text of JSON holds them only as escapes
const STRING = /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/y

/** A text that reads as JSON from its first signs on, whatever the file is called. */
export function looksLikeJson(text: string): boolean {
  return /^\uFEFF?\s*(?:\{\s*["}]|\[\s*["{[\]])/.test(text)
}

/** The places of all values. What is no JSON is told with line and column. */
export function readJson(text: string, where: string): JsonNode {
  let at = 0
  const fault = (reason: string): KiwiError => {
    const before = text.slice(0, at).split('\n')
    const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
    const found = `${reason} (line ${place.line}, column ${place.column})`
    return new KiwiError('PARSE_ERROR', `Cannot read "${where}": ${found}`, { details: place })
  }
  const take = (token: RegExp): string | null => {
    token.lastIndex = at
    const [found] = token.exec(text) ?? []
    if (found === undefined) return null
    at += found.length
    return found
  }
  const skip = (): void => void take(BLANK)
  const isNext = (mark: string): boolean => {
    skip()
    if (text[at] !== mark) return false
    at += 1
    return true
  }
  const readMember = (depth: number): JsonMember => {
    skip()
    const start = at
    const key = take(STRING)
    if (key === null) throw fault(whyNoToken(text.slice(at), 'a key'))
    if (!isNext(':')) throw fault('":" is missing')
    const value = readValue(depth + 1)
    const comma = isNext(',') ? at - 1 : null
    return { key: keyOf(key), start, value, comma }
  }
  const readValue = (depth: number): JsonNode => {
    skip()
    if (depth > LIMITS.nesting) throw fault(`it is nested deeper than ${LIMITS.nesting} levels`)
    const start = at
    if (isNext('{')) {
      const members: JsonMember[] = []
      while (!isNext('}')) {
        if (members.at(-1)?.comma === null) throw fault('"," or "}" is missing')
        members.push(readMember(depth))
      }
      return { start, end: at, members }
    }
    if (isNext('[')) {
      for (let isMore = true; !isNext(']'); isMore = isNext(',')) {
        if (!isMore) throw fault('"," or "]" is missing')
        readValue(depth + 1)
      }
      return { start, end: at, members: null }
    }
    if (take(STRING) === null && take(PLAIN) === null) throw fault(whyNoToken(text.slice(at), 'a value'))
    return { start, end: at, members: null }
  }
  const root = readValue(0)
  skip()
  if (at < text.length) throw fault('something follows its end')
  return root
}

/** What is wrong where a key or a value should stand. It may be a credential, so it is not said itself. */
function whyNoToken(rest: string, what: string): string {
  if (rest === '') return `it ends where ${what} should stand`
  if (rest.startsWith('"')) return whyNoText(rest)
  if (/^[,:{}[\]]/.test(rest)) return `${what} is missing`
  return what === 'a key'
    ? 'a key must stand in double quotes'
    : 'a value must be a text in double quotes, a number, true, false, null, {...} or [...]'
}

function whyNoText(rest: string): string {
  const [, escape] = /^"(?:[^"\\\n]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*(\\[^\n])/.exec(rest) ?? []
  if (escape !== undefined) return `${escape} is no escape: a backslash in a text is written \\\\`
  return /^"(?:[^"\\\n]|\\.)*"/.test(rest)
    ? 'a text holds a sign that must be escaped, such as a tab (\\t)'
    : 'a text has no closing quote on its line'
}

function keyOf(quoted: string): string {
  const key: unknown = JSON.parse(quoted)
  return typeof key === 'string' ? key : ''
}
