/**
 * A short text that a pattern fits, or null for a pattern that is not simple. It is read, never run: patterns come
 * from others.
 */
export function patternExample(pattern: string): string | null {
  try {
    const reading: Reading = { pattern, at: 0, depth: 0 }
    const text = readChoices(reading)
    return reading.at === pattern.length && text.length <= LONGEST ? text : null
  } catch (error) {
    if (error instanceof NotSimple) return null
    throw error
  }
}

interface Reading {
  readonly pattern: string
  at: number
  depth: number
}

class NotSimple extends Error {}

const LONGEST = 200
const DEEPEST = 20

/** Of alternatives the first; the others are read over. */
function readChoices(reading: Reading): string {
  reading.depth += 1
  if (reading.depth > DEEPEST) throw new NotSimple()
  const first = readSequence(reading)
  while (reading.pattern[reading.at] === '|') {
    reading.at += 1
    readSequence(reading)
  }
  reading.depth -= 1
  return first
}

function readSequence(reading: Reading): string {
  let text = ''
  for (;;) {
    const next = reading.pattern[reading.at]
    if (next === undefined || next === '|' || next === ')') return text
    const atom = readAtom(reading)
    text += atom.repeat(readCount(reading))
    if (text.length > LONGEST) throw new NotSimple()
  }
}

function readAtom(reading: Reading): string {
  const { pattern } = reading
  const next = pattern[reading.at] ?? ''
  reading.at += 1
  switch (next) {
    case '^':
    case '$':
      return ''
    case '.':
      return 'a'
    case '\\':
      return readEscape(reading)
    case '[':
      return readClass(reading)
    case '(':
      return readGroup(reading)
    default:
      return next
  }
}

function readGroup(reading: Reading): string {
  const [start = ''] = /^(?:\?:|\?<[A-Za-z]\w*>|)/.exec(reading.pattern.slice(reading.at)) ?? []
  reading.at += start.length
  // What only looks ahead or back asks for more than one text in one place.
  if (reading.pattern[reading.at] === '?') throw new NotSimple()
  const text = readChoices(reading)
  if (reading.pattern[reading.at] !== ')') throw new NotSimple()
  reading.at += 1
  return text
}

/** One that fits each shorthand; for a class of its own too. */
const SHORTHANDS: Readonly<Record<string, string>> = {
  d: '1',
  D: 'a',
  w: 'a',
  W: '-',
  s: ' ',
  S: 'a',
  b: '',
  t: '\t',
  n: '\n',
  r: '\r',
}

function readEscape(reading: Reading): string {
  const next = reading.pattern[reading.at] ?? ''
  reading.at += 1
  const known = SHORTHANDS[next]
  if (known !== undefined) return known
  if (next === '' || /[A-Za-z0-9]/.test(next)) throw new NotSimple()
  return next
}

/** The first of its members; of all that it is not, one of a few. */
function readClass(reading: Reading): string {
  const { pattern } = reading
  const isNot = pattern[reading.at] === '^'
  if (isNot) reading.at += 1
  const members: { readonly from: string; readonly to: string }[] = []
  while (pattern[reading.at] !== ']') {
    const from = readMember(reading)
    if (pattern[reading.at] !== '-' || pattern[reading.at + 1] === ']') {
      members.push({ from, to: from })
      continue
    }
    reading.at += 1
    members.push({ from, to: readMember(reading) })
  }
  reading.at += 1
  const [first] = members
  const found = isNot
    ? ['a', '1', '-', '~'].find((one) => members.every(({ from, to }) => one < from || one > to))
    : first?.from
  if (found === undefined) throw new NotSimple()
  return found
}

function readMember(reading: Reading): string {
  const next = reading.pattern[reading.at]
  if (next === undefined) throw new NotSimple()
  reading.at += 1
  return next === '\\' ? readEscape(reading) : next
}

/** The fewest there may be, but one where there may be any number. */
function readCount(reading: Reading): number {
  const [count = ''] = /^(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??/.exec(reading.pattern.slice(reading.at)) ?? []
  reading.at += count.length
  if (count === '' || count.startsWith('*') || count.startsWith('+')) return 1
  return count.startsWith('?') ? 0 : Number.parseInt(count.slice(1), 10)
}
