import type { Document, Pair, ParsedNode, YAMLMap } from 'yaml'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { parseDocument } from './parse-document.ts'

/**
 * A YAML or JSON manifest with some of its keys changed; null takes a key out. What is not changed stays as it was
 * written, to the byte in YAML: comments, order, quotes.
 */
export async function editManifest(text: string, changes: JsonObject, where: string): Promise<string> {
  const before = isEmpty(text) ? {} : await parseDocument(text, where)
  const after = apply(before, changes)
  const edited = await rewrite(text, before, after)
  // Comments in unusual places could make a change land elsewhere: what counts is what is read afterwards.
  const isRight = canonicalJson(await parseDocument(edited, where)) === canonicalJson(after)
  if (isRight) return edited
  throw new KiwiError(
    'PARSE_ERROR',
    `Cannot change "${where}": it is laid out in a way that cannot be edited`,
    {
      hint: 'Send the whole manifest as text instead of the keys that change',
    },
  )
}

function isEmpty(text: string): boolean {
  return text.split('\n').every((line) => /^\uFEFF?\s*(?:#|$)/.test(line))
}

function apply(before: JsonObject, changes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...before, ...changes }).filter(([key]) => changes[key] !== null),
  )
}

async function rewrite(text: string, before: JsonObject, after: JsonObject): Promise<string> {
  if (isJson(text)) return toJson(text, after)
  const yaml = await import('yaml')
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const write = (value: JsonObject): string => yaml.stringify(value, { lineWidth: 0 }).replaceAll('\n', eol)
  if (Object.keys(after).length === 0) return `{}${eol}`
  const document = yaml.parseDocument(text, { uniqueKeys: false })
  if (!yaml.isMap(document.contents) || document.contents.items.length === 0) return text + write(after)
  if (document.contents.flow === true) return write(after)
  return splice(text, document, { before, after, write })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''))
    return true
  } catch {
    return false
  }
}

/** With the indentation it had. */
function toJson(text: string, after: JsonObject): string {
  const [, indent = text.includes('\n') ? '  ' : ''] = /\n([ \t]+)"/.exec(text) ?? []
  return `${JSON.stringify(after, null, indent)}${/\s*$/.exec(text)?.[0] ?? ''}`
}

interface Edit {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly write: (value: JsonObject) => string
}

/** Only the lines of the keys that change are written anew; those that are new come last. */
function splice(text: string, document: Document.Parsed, { before, after, write }: Edit): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- looked at by the caller
  const { items } = document.contents as YAMLMap.Parsed
  let edited = text
  for (const pair of items.toReversed()) {
    const key = keyOf(pair)
    if (isEqual(before[key], after[key])) continue
    const value = after[key]
    const inPlace = value === undefined ? null : scalarIn(pair, value, write)
    const [start, end] = inPlace === null ? linesOf(pair, text) : inPlace.range
    const written = inPlace?.text ?? (value === undefined ? '' : write({ [key]: value }))
    edited = edited.slice(0, start) + written + edited.slice(end)
  }
  const added = Object.entries(after).filter(([key]) => before[key] === undefined)
  if (added.length === 0) return edited
  return appendTo(edited, write(Object.fromEntries(added)))
}

/** One plain value in the place of another, in its quotes, so that a comment beside it stays. */
function scalarIn(
  { value: node }: Pair<ParsedNode, ParsedNode | null>,
  value: JsonValue,
  write: Edit['write'],
): { readonly text: string; readonly range: readonly [number, number] } | null {
  if (node === null || !('type' in node) || !INLINE.has(textOf(node.type))) return null
  if (typeof value === 'object' || node.range[0] === node.range[1]) return null
  const plain = write({ x: value }).replace(/^x: /, '').trimEnd()
  if (/[\n|>]/.test(plain)) return null
  const isQuoted = typeof value === 'string' && /^[\w.+-]*$/.test(value) && /^[\w]/.test(plain)
  const quote = !isQuoted || node.type === 'PLAIN' ? '' : node.type === 'QUOTE_SINGLE' ? "'" : '"'
  return { text: `${quote}${plain}${quote}`, range: [node.range[0], node.range[1]] }
}

const INLINE: ReadonlySet<string> = new Set(['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE'])

/** Before the mark that ends a document, if somebody wrote one. */
function appendTo(text: string, added: string): string {
  const [, body = text, end = ''] = /^([^]*?\n)(\.\.\.[ \t]*\r?\n?)$/.exec(text) ?? []
  const line = body.endsWith('\n') ? '' : added.endsWith('\r\n') ? '\r\n' : '\n'
  return `${body}${line}${added}${end}`
}

function keyOf({ key }: Pair<ParsedNode, ParsedNode | null>): string {
  return textOf('value' in key ? key.value : '')
}

function isEqual(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return canonicalJson(one) === canonicalJson(other)
}

/** From the line of the key to the end of the last line of its value. */
export function linesOf(
  { key, value }: Pair<ParsedNode, ParsedNode | null>,
  text: string,
): readonly [number, number] {
  const start = text.lastIndexOf('\n', key.range[0] - 1) + 1
  const last = value === null ? key.range[1] : Math.max(value.range[1], key.range[1])
  // The value of a block ends behind its line break, any other before it.
  const end = text[last - 1] === '\n' ? last : text.indexOf('\n', last) + 1
  return [start, end <= 0 ? text.length : end]
}
