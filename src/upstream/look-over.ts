import { LIMITS } from '../shared/limits.ts'

/** What a message shows by its look, before it is parsed: parsing what is deep or heavy would hold up everybody. */
export interface Look {
  /** The message, with heavy parts of its result as texts. */
  readonly text: string
  /** The names of those parts, and how many values each holds. */
  readonly asText: ReadonlyMap<string, number>
  /** Why it is not parsed: it is nested without end, or still holds more values than are taken. */
  readonly fault: 'too_deep' | 'too_much' | null
  /** Whose answer a long one is; null when it is none. */
  readonly id: number | null
}

/** Shorter ones are parsed in no time, whatever they hold. */
const LONG = 16 * 1024
/** Of smaller ones no part is heavy. */
const LARGE = 1024 * 1024
/** Values of one part that are made into a tree: to make it, and every walk over it, holds up all others. */
const MOST_VALUES = 50_000
const MOST_LEFT = 200_000
/** What a tool gives back; everything else is understood, so it is parsed. */
const PARTS: ReadonlySet<string> = new Set(['content', 'structuredContent', '_meta'])
const NONE: ReadonlyMap<string, number> = new Map()

export function lookOver(text: string): Look {
  if (text.length < LONG) return { text, asText: NONE, fault: null, id: null }
  const { spans, left, id, isDeep } = walk(text)
  if (isDeep) return { text, asText: NONE, fault: 'too_deep', id }
  const isLarge = text.length >= LARGE
  const fault = isLarge && left > MOST_LEFT ? 'too_much' : null
  if (!isLarge || spans.length === 0) return { text, asText: NONE, fault, id }
  const parts: string[] = []
  let from = 0
  for (const span of spans) {
    parts.push(text.slice(from, span.from), JSON.stringify(text.slice(span.from, span.to)))
    from = span.to
  }
  parts.push(text.slice(from))
  const asText = new Map(spans.map(({ name, values }) => [name, values]))
  return { text: parts.join(''), asText, fault, id }
}

interface Span {
  readonly name: string
  readonly values: number
  readonly from: number
  readonly to: number
}

interface Walked {
  readonly spans: readonly Span[]
  /** Values beside those of the spans. */
  readonly left: number
  readonly id: number | null
  readonly isDeep: boolean
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

function walk(text: string): Walked {
  const spans: Span[] = []
  const keys = ['', '', '']
  let id: number | null = null
  let isAsked = false
  let [depth, values, before, start] = [0, 0, 0, -1]
  let word: readonly [number, number] = [0, 0]
  const name = (at: number): void => {
    const key = keyIn(text, word)
    keys[depth] = key
    if (depth !== 1) return
    if (key === 'id') id = numberAt(text, at + 1)
    if (key === 'method') isAsked = true
  }
  const open = (at: number): void => {
    depth += 1
    if (depth === 3 && keys[1] === 'result' && PARTS.has(keys[2] ?? '')) [start, before] = [at, values]
  }
  const close = (at: number): void => {
    depth -= 1
    if (depth !== 2 || start < 0) return
    if (values - before > MOST_VALUES) {
      spans.push({ name: keys[2] ?? '', values: values - before, from: start, to: at + 1 })
      values = before
    }
    start = -1
  }
  const end = (isDeep: boolean): Walked => ({
    spans,
    left: values,
    // What a deep one answers may stand behind the depth.
    id: isAsked ? null : (id ?? (isDeep ? numberBehind(text) : null)),
    isDeep,
  })
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) {
      const from = at
      at = endOfText(text, from)
      if (depth <= 2) word = [from, at]
    } else if (sign === COMMA) values += 1
    else if (sign === COLON && depth <= 2) name(at)
    else if (sign === OPEN_OBJECT || sign === OPEN_LIST) open(at)
    else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) close(at)
    if (depth > LIMITS.nesting + 1) return end(true)
  }
  return end(false)
}

function numberAt(text: string, at: number): number | null {
  const [number] = /^\s*\d{1,15}\b/.exec(text.slice(at, at + 32)) ?? []
  return number === undefined ? null : Number(number)
}

const TAIL = 1024

function numberBehind(text: string): number | null {
  const [, number] = /,\s*"id"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(text.slice(-TAIL)) ?? []
  return number === undefined ? null : Number(number)
}

/** Where the text that begins here ends. Most are long and hold no escape: they are jumped over. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return text.length
}

const LONGEST_KEY = 128

/** A name may be written with escapes. */
function keyIn(text: string, [from, to]: readonly [number, number]): string {
  const written = to - from > LONGEST_KEY ? '' : text.slice(from + 1, to)
  if (!written.includes('\\')) return written
  try {
    return String(JSON.parse(`"${written}"`))
  } catch {
    return ''
  }
}
