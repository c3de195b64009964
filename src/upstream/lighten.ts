/** A message that is large, looked over before it is parsed. */
interface Lightened {
  /** The message, with heavy parts of its result as texts. */
  readonly text: string
  /** The names of those parts. */
  readonly asText: readonly string[]
  /** It still holds more values than are taken. */
  readonly isTooMuch: boolean
  /** Whose answer a large one is; null when it is none. */
  readonly id: number | null
}

/** Smaller ones are parsed as they are. */
const LARGE = 1024 * 1024
/** Values of one part that are made into a tree: to make it, and every walk over it, holds up all others. */
const MOST_VALUES = 50_000
const MOST_LEFT = 200_000
/** What a tool gives back; everything else is understood, so it is parsed. */
const PARTS: ReadonlySet<string> = new Set(['content', 'structuredContent', '_meta'])

const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

interface Span {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Finds by one look over the text what would be a tree of very many values. */
export function lighten(text: string): Lightened {
  if (text.length < LARGE) return { text, asText: [], isTooMuch: false, id: null }
  const { spans, left, id } = heavySpans(text)
  const isTooMuch = left > MOST_LEFT
  if (spans.length === 0) return { text, asText: [], isTooMuch, id }
  const parts: string[] = []
  let from = 0
  for (const span of spans) {
    parts.push(text.slice(from, span.from), JSON.stringify(text.slice(span.from, span.to)))
    from = span.to
  }
  parts.push(text.slice(from))
  return { text: parts.join(''), asText: spans.map(({ name }) => name), isTooMuch, id }
}

interface Looked {
  readonly spans: readonly Span[]
  readonly left: number
  readonly id: number | null
}

function heavySpans(text: string): Looked {
  const spans: Span[] = []
  const keys = ['', '', '']
  let id: number | null = null
  let [depth, values, before, start] = [0, 0, 0, -1]
  let word: readonly [number, number] = [0, 0]
  const name = (at: number): void => {
    keys[depth] = keyIn(text, word)
    if (depth === 1 && keys[1] === 'id') id = numberAt(text, at + 1)
  }
  const open = (at: number): void => {
    depth += 1
    if (depth === 3 && keys[1] === 'result' && PARTS.has(keys[2] ?? '')) [start, before] = [at, values]
  }
  const close = (at: number): void => {
    depth -= 1
    if (depth !== 2 || start < 0) return
    if (values - before > MOST_VALUES) {
      spans.push({ name: keys[2] ?? '', from: start, to: at + 1 })
      values = before
    }
    start = -1
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) {
      const end = endOfText(text, at)
      if (depth <= 2) word = [at, end]
      at = end
    } else if (sign === COMMA) values += 1
    else if (sign === COLON && depth <= 2) name(at)
    else if (sign === OPEN_OBJECT || sign === OPEN_LIST) open(at)
    else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) close(at)
  }
  return { spans, left: values, id }
}

function numberAt(text: string, at: number): number | null {
  const [number] = /^\s*\d{1,15}\b/.exec(text.slice(at, at + 32)) ?? []
  return number === undefined ? null : Number(number)
}

/** Where the text that begins here ends. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) return at
    if (sign === BACKSLASH) at += 1
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
