/** An element that stands at the top of a markdown text, and the fence it is in. */
export interface Candidate {
  /** Where it begins. */
  readonly at: number
  readonly fence: Fence | null
  /** A comment that was begun within a line, in the same paragraph: whether this is a part of it, nobody can tell. */
  readonly isDoubtful: boolean
}

interface Fence {
  readonly sign: string
  readonly length: number
  readonly isXml: boolean
}

/** What is found, and how many fences stand at the top of the text. */
interface Found {
  readonly candidate: Candidate | null
  readonly fences: number
}

/** Where to look, and the fence that this is in. */
interface From {
  readonly at: number
  readonly fence?: Fence | null
}

/**
 * The next element of this name that is meant and not shown: first in a fence of XML, or at the start of a line that
 * is in no fence. Fences of anything else, a fence in a longer one, indented code and comments are text.
 */
export function findElement(text: string, name: string, from: From): Found {
  let fence = from.fence ?? null
  let fences = 0
  let isInComment = false
  for (let at = from.at; at < text.length;) {
    const next = text.indexOf('\n', at)
    const end = next < 0 ? text.length : next
    const line = text.slice(at, end)
    if (fence !== null) {
      if (closes(line, fence)) fence = null
      at = end + 1
      continue
    }
    const opened = fenceIn(line)
    const begun = opened === null ? outside(text, name, at, line) : inFence(text, name, end + 1, opened)
    fences += opened === null ? 0 : 1
    fence = opened
    if (begun.isElement) {
      const isDoubtful = opened === null && isInComment && closesLater(text, begun.at)
      return { candidate: { at: begun.at, fence, isDoubtful }, fences }
    }
    isInComment = opened === null && begun.at <= end && staysInComment(line, isInComment)
    // Behind a comment of several lines, or the next one.
    at = Math.max(end + 1, begun.at)
  }
  return { candidate: null, fences }
}

function outside(text: string, name: string, at: number, line: string): Begun {
  return INDENTED.test(line) ? { isElement: false, at } : begunAt(text, name, at, /[ \t\uFEFF]*/y)
}

function inFence(text: string, name: string, at: number, { isXml }: Fence): Begun {
  return isXml ? begunAt(text, name, at, /[\s\uFEFF]*/y) : { isElement: false, at }
}

const INDENTED = /^(?: {4}| {0,3}\t)/

function fenceIn(line: string): Fence | null {
  const [, signs, info = ''] = /^\uFEFF? {0,3}(`{3,}|~{3,})([^\n]*)$/.exec(line) ?? []
  if (signs === undefined) return null
  const sign = signs.slice(0, 1)
  // Code within a line may have as many.
  if (sign === '`' && info.includes('`')) return null
  return { sign, length: signs.length, isXml: /^xml$/i.test(info.trim().split(/\s/, 1)[0] ?? '') }
}

function closes(line: string, { sign, length }: Fence): boolean {
  const [, signs = ''] = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line) ?? []
  return signs.startsWith(sign) && signs.length >= length
}

interface Begun {
  readonly isElement: boolean
  /** Where it begins, or where what was skipped ends. */
  readonly at: number
}

/** What stands here behind these blanks, comments and declarations. A comment without an end goes on to the end. */
function begunAt(text: string, name: string, from: number, blanks: RegExp): Begun {
  for (let at = from; ;) {
    blanks.lastIndex = at
    const start = at + (blanks.exec(text)?.[0].length ?? 0)
    if (text.startsWith(`<${name}`, start))
      return { isElement: /[\s/>]/.test(text[start + name.length + 1] ?? ''), at: start }
    if (isTyped(text, name, start)) return { isElement: true, at: start }
    const isComment = text.startsWith('<!--', start)
    const end = isComment ? text.indexOf('-->', start) : declarationEnd(text, start)
    if (end < 0) return { isElement: false, at: isComment ? text.length : at }
    at = end + (isComment ? '-->'.length : 1)
  }
}

/** A document type before the element, on its line: whoever reads it refuses that. */
function isTyped(text: string, name: string, at: number): boolean {
  if (!/^<!doctype$/i.test(text.slice(at, at + '<!doctype'.length))) return false
  const next = text.indexOf('\n', at)
  return text.slice(at, next < 0 ? text.length : next).includes(`<${name}`)
}

/** Where one ends that begins here, on the same line or, with entities in it, below; -1 when there is none. */
function declarationEnd(text: string, at: number): number {
  if (!text.startsWith('<?', at) && !text.startsWith('<!', at)) return -1
  const next = text.indexOf('\n', at)
  const line = text.slice(at, next < 0 ? text.length : next)
  const subset = /^<!doctype[^>[]*\[/i.test(line) ? text.slice(at, at + MOST_SUBSET).search(/\]\s*>/) : -1
  const within = subset < 0 ? line.indexOf('>') : text.indexOf('>', at + subset) - at
  return within < 0 ? -1 : at + within
}

/** Characters of a document type with entities of its own: beyond that it is none. */
const MOST_SUBSET = 4096

/** Whether a comment is open behind a line: it ends with its paragraph, and code within the line begins none. */
function staysInComment(line: string, isInComment: boolean): boolean {
  if (line.trim() === '') return false
  const plain = line.replaceAll(/`[^`]*`/g, '')
  const open = plain.lastIndexOf('<!--')
  const close = plain.lastIndexOf('-->')
  return open < 0 && close < 0 ? isInComment : open > close
}

/** Whether it ends before its paragraph does. */
function closesLater(text: string, from: number): boolean {
  const close = text.indexOf('-->', from)
  return close >= 0 && !/\n[ \t]*\r?\n/.test(text.slice(from, close))
}
