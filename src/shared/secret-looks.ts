/** How a value looks when it is written as text, in the encodings that are met most: from each a beginning can be told, too. */
export function writtenLooks(value: string): ReadonlySet<string> {
  const json = JSON.stringify(value).slice(1, -1)
  const url = encodeURIComponent(value)
  return new Set([
    value,
    json,
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    url,
    url.replaceAll('%2F', '/'),
    url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ v: value }).toString().slice(2),
  ])
}

/** The same where its bytes are encoded as a whole: what they alone decide, whatever stands around. */
export function encodedCores(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  return new Set([hex, hex.toUpperCase(), ...base64Looks(bytes).map(({ core }) => core)])
}

/** And with the last sign of base64, and the padding, where the value is the end of what was encoded. */
export function encodedLooks(value: string): ReadonlySet<string> {
  const ended = base64Looks(Buffer.from(value)).flatMap(({ end, padding }) => [end, end + padding])
  return new Set([...encodedCores(value), ...ended])
}

/** Base64 depends on where the value starts in its group of three. */
function base64Looks(bytes: Buffer): readonly Readonly<Record<'core' | 'end' | 'padding', string>>[] {
  return [0, 1, 2].flatMap((shift) => {
    const padded = Buffer.concat([Buffer.alloc(shift), bytes])
    const from = Math.ceil((shift * 8) / 6)
    const to = Math.floor((padded.length * 8) / 6)
    const padding = '='.repeat((3 - (padded.length % 3)) % 3)
    return (['base64', 'base64url'] as const).map((encoding) => {
      const end = padded.toString(encoding).slice(from).replaceAll('=', '')
      return { core: end.slice(0, to - from), end, padding }
    })
  })
}

export const LINE_END = /\r?\n[ \t]*/g

/** An encoded value that is wrapped into lines, as `base64`, `xxd -p` and mail do. */
export function broken(look: string): RegExp {
  return new RegExp(Array.from(look, literal).join(`(?:${LINE_END.source})?`), 'g')
}

/**
 * Encoders differ in what they spare, and what was escaped once is escaped again in another document: each character
 * is found by itself, however it is written. Null where every encoder writes the value as it is.
 */
export function spelling(value: string): RegExp | null {
  if (/^[\w.-]*$/.test(value)) return null
  // A row of backslashes is one piece: taken singly, they could be shared out in too many ways.
  const pieces = value.match(/\\+|[^\\]/gu) ?? []
  return new RegExp(pieces.map(piecePattern).join(''), 'g')
}

/** As much of a value as every encoder writes as it is. */
export function longestPlain(value: string): string {
  return (value.match(/[\w.-]+/g) ?? []).reduce((long, run) => (run.length > long.length ? run : long), '')
}

const NAMED: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }
const SHORT: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }
/** Escaping twice doubles them twice. */
const MOST_BACKSLASHES = 8
/** What was encoded is encoded again where it is part of another address or page. */
const PERCENT = '%(?:25){0,3}'
const AND = '&(?:amp;){0,3}'

function piecePattern(piece: string): string {
  if (/^[\w.-]$/.test(piece)) return literal(piece)
  const before = `\\\\{1,${MOST_BACKSLASHES}}`
  const { length } = piece
  const raw = piece.startsWith('\\')
    ? `\\\\{${length},${length * MOST_BACKSLASHES}}`
    : `\\\\{0,${MOST_BACKSLASHES}}${literal(piece)}`
  const units = [...Array(length).keys()].map((at) => piece.charCodeAt(at).toString(16).padStart(4, '0'))
  const named = NAMED[piece]
  const short = SHORT[piece]
  const code = piece.codePointAt(0) ?? 0
  // As it is comes last: `&amp;` begins with it, too.
  const ways = [
    anyCase(Buffer.from(piece).toString('hex').replaceAll(/../g, `${PERCENT}$&`)),
    units.map((unit) => `${before}u${anyCase(unit)}`).join(''),
    `${AND}#0*${code};`,
    `${AND}#[xX]0*${anyCase(code.toString(16))};`,
    ...(named === undefined ? [] : [`${AND}${named};`]),
    ...(short === undefined ? [] : [`${before}${short}`]),
    ...(piece === ' ' ? ['\\+'] : []),
    raw,
  ]
  return `(?:${ways.join('|')})`
}

function literal(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
