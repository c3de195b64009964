import { positionsIn } from './position.ts'

interface Repair {
  /** The line as it should be. */
  readonly line: string
  /** What was wrong in it. */
  readonly offset: number
}

interface Failure {
  readonly text: string
  /** The same without what may hold any sign. */
  readonly masked: string
  /** Where the directive begins, and where reading failed. */
  readonly from: number
  readonly failed: number
}

/** The line with the first sign that is not written as text, written so; null where that is not what is wrong. */
export function proposeRepair({ text, masked, from, failed }: Failure): Repair | null {
  const [first, ...others] = bareSigns(masked, from, failed)
  if (first === undefined) return inAttribute(text, failed)
  const { start, end } = lineAround(text, first)
  return { line: escaped(text, start, end, [first, ...others]), offset: first }
}

/** All lines of the element that begins at an offset with such signs, written so, by their number. */
export function repairedLines({ text, masked, from }: Omit<Failure, 'failed'>): ReadonlyMap<number, string> {
  const positionOf = positionsIn(text)
  const byLine = new Map<number, number[]>()
  for (const offset of signsWithin(masked, from)) {
    const { line } = positionOf(offset)
    const known = byLine.get(line)
    if (known === undefined) byLine.set(line, [offset])
    else known.push(offset)
  }
  return new Map(
    [...byLine].map(([line, offsets]) => {
      const { start, end } = lineAround(text, offsets[0] ?? 0)
      return [line, escaped(text, start, end, offsets)]
    }),
  )
}

const WRITTEN: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;' }

function escaped(text: string, start: number, end: number, offsets: readonly number[]): string {
  let line = ''
  let from = start
  for (const at of offsets.filter((offset) => offset < end)) {
    line += text.slice(from, at) + (WRITTEN[text[at] ?? ''] ?? '')
    from = at + 1
  }
  return line + text.slice(from, end)
}

const REFERENCE = String.raw`(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\dA-Fa-f]{1,6});`
/** A name that is none of a tag: behind it comes a sign that no tag has there, or another tag before this one ends. */
const NAME = String.raw`(?=(?<name>[A-Za-z_][\w.:-]{0,255}))\k<name>`
/** Signs of equality that are none of an attribute. */
const EQUALS = String.raw`(?:={2,}(?!=)|(?<=\s)=(?=\s)(?!\s*["']))`
const NO_TAG = String.raw`${NAME}(?:[^\w.:\-\s/>\u0080-\uFFFF]|[^<>=]*(?:${EQUALS}[^<>=]*)*<)`
/** Signs that can only be meant as themselves, and what may hold any. */
const SIGNS = new RegExp(`<!--|<!\\[CDATA\\[|&(?!${REFERENCE})|<(?![A-Za-z_/!?])|<(?=${NO_TAG})`, 'g')

const VALUE_SIGNS = new RegExp(`&(?!${REFERENCE})|<`, 'g')

/** Offsets of such signs, those on the line at which reading failed included. */
function bareSigns(text: string, from: number, failed: number): readonly number[] {
  const last = lineAround(text, failed).end
  const isText = textTest(text, from)
  const signs = new RegExp(SIGNS)
  signs.lastIndex = from
  const found: number[] = []
  for (let sign = signs.exec(text); sign !== null && sign.index < last; sign = signs.exec(text)) {
    if (sign[0].length === 1) {
      if (isText(sign)) found.push(sign.index)
      continue
    }
    const close = text.indexOf(sign[0] === '<!--' ? '-->' : ']]>', sign.index)
    if (close < 0) break
    signs.lastIndex = close
  }
  return found
}

/** Tells a text behind such a sign from a tag of which the end was forgotten: that one is closed before what is around it. */
function textTest(text: string, from: number): (sign: RegExpExecArray) => boolean {
  const closed = new Set([...text.slice(from).matchAll(/<\/([\w.:-]{1,256})/g)].map(([, name]) => name))
  return ({ index, groups }) => {
    const name = groups?.['name']
    if (name === undefined || !closed.has(name)) return true
    const next = text.indexOf('<', index + 1)
    return text.startsWith('</', next) && !isClosing(text, next, name)
  }
}

function isClosing(text: string, at: number, name: string): boolean {
  return text.startsWith(`</${name}`, at) && /[\s>]/.test(text[at + name.length + 2] ?? '')
}

/** A tag with values, each on one line: in them no such sign begins anything. */
const TAG = String.raw`<[A-Za-z_][^\s<>"'=/]*(?:\s+[^\s<>"'=/]+\s*=\s*(?:"[^"\n]*"|'[^'\n]*'))+`

/** Offsets of such signs to the end of the element. */
function signsWithin(text: string, from: number): readonly number[] {
  const [, name = ''] = /^<([^\s<>/]+)/.exec(text.slice(from, from + 64)) ?? []
  const isText = textTest(text, from)
  const signs = new RegExp(`${SIGNS.source}|${TAG}|</`, 'g')
  signs.lastIndex = from
  const found: number[] = []
  for (let sign = signs.exec(text); sign !== null; sign = signs.exec(text)) {
    const { index: at, 0: written } = sign
    if (written.length === 1) {
      if (isText(sign)) found.push(at)
    } else if (written === '</') {
      if (isClosing(text, at, name)) break
    } else if (written.startsWith('<!')) {
      const close = text.indexOf(written === '<!--' ? '-->' : ']]>', at)
      if (close < 0) break
      signs.lastIndex = close
    } else for (const { index } of written.slice(1).matchAll(VALUE_SIGNS)) found.push(at + 1 + index)
  }
  return found
}

/** Within the value of an attribute no such sign begins an element. */
function inAttribute(text: string, at: number): Repair | null {
  const { start, end } = lineAround(text, at)
  // Behind the end of a tag its quotes were forgotten, and the sign begins an element.
  if (text[at] !== '<' || !/=\s*(?:"[^">]*|'[^'>]*)$/.test(text.slice(start, at))) return null
  return { line: escaped(text, start, end, [at]), offset: at }
}

function lineAround(text: string, at: number): { readonly start: number; readonly end: number } {
  const next = text.indexOf('\n', at)
  const end = next < 0 ? text.length : next
  return { start: text.lastIndexOf('\n', at - 1) + 1, end: text[end - 1] === '\r' ? end - 1 : end }
}
