import type { Document, LineCounter, Node } from 'yaml'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { assertPlain, isJsonObject, isUnsafeKey } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import { looksLikeJson, readJson } from './read-json.ts'

/** Reads YAML or JSON (which is YAML) strictly: no aliases, no tags, no key twice, nothing repaired. */
export async function parseDocument(text: string, where: string): Promise<JsonObject> {
  return (await parseLocated(text, where)).value
}

/** A document, and where in its text a value stands. */
interface Located<T extends JsonValue = JsonObject> {
  readonly value: T
  /** The place of a key or entry; of the nearest thing around it when it is not there. */
  readonly at: (path: readonly PropertyKey[]) => Position
}

export interface Position {
  readonly line: number
  readonly column: number
}

/** The same, for whoever has to say where something is wrong. */
export async function parseLocated(text: string, where: string): Promise<Located> {
  const { value, at } = await parseValue(text, where)
  if (!isJsonObject(value)) throw parseError(where, 'it is not a mapping of keys to values')
  return { value, at }
}

/** The same for what may be anything, such as a list. */
export async function parseValue(text: string, where: string): Promise<Located<JsonValue>> {
  if (Buffer.byteLength(text) > LIMITS.itemBytes) {
    throw new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot read "${where}": it is larger than ${LIMITS.itemBytes} bytes`,
    )
  }
  const { document, lines } = await compose(text, where)
  const fault = await findFault(document)
  if (fault !== null) {
    // Who wrote JSON has heard nothing of flow maps.
    if (looksLikeJson(text)) readJson(text, where)
    const { line, col } = lines.linePos(fault.offset)
    throw parseError(where, `${fault.reason} (line ${line}, column ${col})`, { line, column: col })
  }
  const value: unknown = document.toJS({ maxAliasCount: 0 })
  assertPlain(value, `"${where}"`, 'PARSE_ERROR')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the core schema yields JSON values only
  return { value: value as JsonValue, at: await locate(document, lines) }
}

async function locate(document: Document, lines: LineCounter): Promise<Located['at']> {
  const { isMap, isNode, isScalar, isSeq } = await import('yaml')
  return (path) => {
    let node: unknown = document.contents
    let offset = 0
    for (const step of path) {
      const pair = isMap(node)
        ? node.items.find(({ key }) => isScalar(key) && textOf(key.value) === String(step))
        : undefined
      const named: unknown = isSeq(node) ? node.items[Number(step)] : pair?.key
      if (!isNode(named)) break
      offset = named.range?.[0] ?? offset
      node = pair === undefined ? named : pair.value
    }
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

/**
 * The package's composer recurses, and deep input takes the whole process down inside V8. Its parser does not
 * recurse, so the depth of its stack is watched before anything is composed. Its own search for keys that are
 * there twice takes minutes over many keys, and its known tags make dates and sets: both are off.
 */
async function compose(text: string, where: string): Promise<{ document: Document; lines: LineCounter }> {
  const { Composer, Lexer, LineCounter: Lines, Parser } = await import('yaml')
  const lines = new Lines()
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  const tokens = []
  let read = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (!MARKS.has(lexeme)) read += lexeme.length
    if (stackOf(parser).length > LIMITS.nesting + 2) {
      const { line, col } = lines.linePos(read)
      const reason = `it is nested deeper than ${LIMITS.nesting} levels (line ${line}, column ${col})`
      throw new KiwiError('TOO_DEEP', `Cannot read "${where}": ${reason}`)
    }
  }
  for (const token of parser.end()) tokens.push(token)
  const composer = new Composer({ schema: 'core', resolveKnownTags: false, uniqueKeys: false })
  const [document, second] = composer.compose(tokens, true, text.length)
  if (document === undefined || second !== undefined)
    throw parseError(where, 'it holds more than one document')
  return { document, lines }
}

/** What the lexer says beside what it read: a document begins, a value follows, a bracket was missing. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u001F', '\u0018'])

/** The stack is there at run time and missing from the package's types. */
function stackOf(parser: object): readonly unknown[] {
  if ('stack' in parser && Array.isArray(parser.stack)) return parser.stack
  throw new KiwiError('INTERNAL', 'Cannot measure nesting: the YAML parser has no stack')
}

interface DocumentFault {
  readonly reason: string
  readonly offset: number
}

/** What the package found wrong, else the first thing that it would let pass and we do not. */
async function findFault(document: Document): Promise<DocumentFault | null> {
  const [wrong] = [...document.errors, ...document.warnings]
  if (wrong !== undefined) return { reason: wrong.message, offset: wrong.pos[0] }
  const { isNode, isScalar, visit } = await import('yaml')
  const faults: DocumentFault[] = []
  const add = (reason: string, node: Node): symbol => {
    faults.push({ reason, offset: node.range?.[0] ?? 0 })
    return visit.BREAK
  }
  visit(document, {
    Alias: (_, alias) => add('it uses a YAML alias', alias),
    Map: (_, map) => {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        if (isNode(key) && !isScalar(key)) return add('a key is not a plain text', key)
        const name = textOf(isScalar(key) ? key.value : key)
        if (isNode(key) && seen.has(name)) return add(`the key "${name}" is there twice`, key)
        if (isNode(key) && isUnsafeKey(name)) return add(`"${name}" is not allowed as a key`, key)
        seen.add(name)
      }
      return undefined
    },
  })
  return faults[0] ?? null
}

function parseError(where: string, reason: string, place?: Position): KiwiError {
  return new KiwiError('PARSE_ERROR', `Cannot read "${where}": ${reason}`, { details: { ...place } })
}

/** Where a fault of reading says it is; the beginning when it does not say. */
export function positionIn(error: unknown): Position {
  const [, line = 1, column = 1] =
    error instanceof KiwiError ? (/\(line (\d+), column (\d+)\)$/.exec(error.message) ?? []) : []
  return { line: Number(line), column: Number(column) }
}
