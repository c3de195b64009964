import type { Dialect, Text } from './literal.ts'
import { endOfPythonString, endOfQuoted } from './mask.ts'

export const PYTHON: Dialect = {
  gap: /(?:\s|#[^\n]*|\\\r?\n)*/y,
  words: new Map([
    ['True', true],
    ['False', false],
    ['None', null],
  ]),
  string: readPythonString,
  isPython: true,
}

export const JAVASCRIPT: Dialect = {
  gap: /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y,
  words: new Map([
    ['true', true],
    ['false', false],
    ['null', null],
    ['undefined', null],
  ]),
  string: readJavascriptString,
  isPython: false,
}

/** Any prefix but `f`, whose text is computed. */
const PREFIX = /(?:[rR][bB]?|[bB][rR]?|[uU])?(?="|')/y

function readPythonString(source: string, at: number): Text | null {
  PREFIX.lastIndex = at
  const [prefix] = PREFIX.exec(source) ?? []
  if (prefix === undefined) return null
  const open = at + prefix.length
  const quote = source.charAt(open)
  const marks = source.startsWith(quote.repeat(3), open) ? 3 : 1
  const end = endOfPythonString(source, open)
  if (end < open + 2 * marks || source.slice(end - marks, end) !== quote.repeat(marks)) return null
  const body = source.slice(open + marks, end - marks).replaceAll('\r\n', '\n')
  if (OPEN_END.test(body)) return null
  return { value: /r/i.test(prefix) ? body : body.replaceAll(PYTHON_ESCAPE, fromPython), end }
}

/** The quote behind it was not the end: the file ended there. */
const OPEN_END = /(?<!\\)(?:\\\\)*\\$/

const PYTHON_ESCAPE = /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^]))/g
const SIMPLE: ReadonlyMap<string, string> = new Map([
  ['\n', ''],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

type Groups = readonly (string | undefined)[]

function fromPython(whole: string, ...[octal, hex, four, eight, simple = '']: Groups): string {
  if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
  const code = hex ?? four ?? eight
  return code === undefined ? (SIMPLE.get(simple) ?? whole) : character(code)
}

function character(hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\uFFFD'
}

function readJavascriptString(source: string, at: number): Text | null {
  const quote = source.charAt(at)
  if (quote !== '"' && quote !== "'" && quote !== '`') return null
  const end = endOfQuoted(source, at)
  if (end < at + 2 || source.charAt(end - 1) !== quote) return null
  const body = source.slice(at + 1, end - 1)
  if (OPEN_END.test(body)) return null
  // What stands in `${}` is computed.
  if (quote === '`' && /(?<!\\)(?:\\\\)*\$\{/.test(body)) return null
  return { value: body.replaceAll('\r\n', '\n').replaceAll(JAVASCRIPT_ESCAPE, fromJavascript), end }
}

const JAVASCRIPT_ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]{1,6})\}|([^]))/g

function fromJavascript(_: string, ...[hex, four, braced, simple = '']: Groups): string {
  const code = hex ?? four ?? braced
  if (code !== undefined) return character(code)
  return simple === '0' ? '\0' : simple === 'a' ? 'a' : (SIMPLE.get(simple) ?? simple)
}
