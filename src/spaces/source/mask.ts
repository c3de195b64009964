/**
 * Source text with the inside of strings and comments blanked, character for character: what is left is code, and a
 * place in it is the same place in the source. Nothing is parsed; what is broken is read as far as it goes.
 */
export interface Masked {
  readonly source: string
  readonly code: string
  /** Block comments of JavaScript, where they begin and end. */
  readonly comments: readonly Span[]
}

interface Span {
  readonly start: number
  readonly end: number
}

export function maskPython(source: string): Masked {
  const parts = createParts(source)
  const next = /["'#]/g
  for (let found = next.exec(source); found !== null; found = next.exec(source)) {
    const { index } = found
    if (found[0] === '#') next.lastIndex = parts.blank(index, endOfLine(source, index))
    else next.lastIndex = parts.quote(index, endOfPythonString(source, index))
  }
  return { source, code: parts.code(), comments: [] }
}

/** Where a string that begins with the quote at this place ends; one that is never closed ends with its line, or the file. */
export function endOfPythonString(source: string, at: number): number {
  const quote = source.charAt(at)
  const triple = quote.repeat(3)
  if (!source.startsWith(triple, at)) return endOfQuoted(source, at)
  for (let from = at + 3; ;) {
    const close = source.indexOf(triple, from)
    if (close < 0) return source.length
    let backslashes = 0
    while (source.charAt(close - 1 - backslashes) === '\\') backslashes += 1
    if (backslashes % 2 === 0) return close + 3
    from = close + 1
  }
}

export function endOfQuoted(source: string, at: number): number {
  const quote = source.charAt(at)
  const next = quote === '"' ? /\\[^]|["\n]/g : quote === "'" ? /\\[^]|['\n]/g : /\\[^]|`/g
  next.lastIndex = at + 1
  for (let found = next.exec(source); found !== null; found = next.exec(source)) {
    if (found[0] === '\n') return found.index
    if (found[0] === quote) return next.lastIndex
  }
  return source.length
}

export function maskJavascript(source: string): Masked {
  const parts = createParts(source)
  const comments: Span[] = []
  const next = /["'`]|\/[/*]?/g
  for (let found = next.exec(source); found !== null; found = next.exec(source)) {
    const { index } = found
    switch (found[0]) {
      case '//':
        next.lastIndex = parts.blank(index, endOfLine(source, index))
        break
      case '/*': {
        const close = source.indexOf('*/', index + 2)
        const end = close < 0 ? source.length : close + 2
        comments.push({ start: index, end })
        next.lastIndex = parts.blank(index, end)
        break
      }
      case '/':
        if (isPattern(source, index)) next.lastIndex = parts.blank(index, endOfPattern(source, index))
        break
      default:
        next.lastIndex = parts.quote(index, endOfQuoted(source, index))
    }
  }
  return { source, code: parts.code(), comments }
}

/** A slash begins a pattern where a value is expected; elsewhere it divides. */
function isPattern(source: string, at: number): boolean {
  let before = at - 1
  while (before >= 0 && /\s/.test(source.charAt(before))) before -= 1
  if (before < 0 || /[(,=:[!&|?{};+\-*%~^<>]/.test(source.charAt(before))) return true
  return /\b(?:return|typeof|case|in|of|delete|void|throw|new|await|yield)$/.test(
    source.slice(Math.max(0, before - 10), before + 1),
  )
}

/** To the slash that closes it, which a set of characters may hold as well; one that is not closed is no pattern. */
function endOfPattern(source: string, at: number): number {
  const next = /\\.|[[\]/\n]/g
  next.lastIndex = at + 1
  let isSet = false
  for (let found = next.exec(source); found !== null; found = next.exec(source)) {
    if (found[0] === '\n') return at + 1
    if (found[0] === '[') isSet = true
    else if (found[0] === ']') isSet = false
    else if (found[0] === '/' && !isSet) return next.lastIndex
  }
  return at + 1
}

function endOfLine(source: string, at: number): number {
  const end = source.indexOf('\n', at)
  return end < 0 ? source.length : end
}

interface Parts {
  /** Makes it blank but for its line ends, and returns where it ends. */
  blank(start: number, end: number): number
  /** Keeps the quotes around it; a line end inside is none. */
  quote(start: number, end: number): number
  code(): string
}

function createParts(source: string): Parts {
  const parts: string[] = []
  let from = 0
  const put = (start: number, end: number, text: string): number => {
    parts.push(source.slice(from, start), text)
    from = end
    return end
  }
  return {
    blank: (start, end) => put(start, end, source.slice(start, end).replaceAll(/[^\n]/g, ' ')),
    quote: (start, end) => put(start, end, end - start < 2 ? '"' : `"${' '.repeat(end - start - 2)}"`),
    code: () => parts.join('') + source.slice(from),
  }
}
