import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { JsonMember, JsonNode } from './read-json.ts'
import { readJson } from './read-json.ts'

/** The same text with another value at `object.name`: every other byte stays, comments and all. */
export function setJson(
  text: string,
  [object, name]: readonly [string, string],
  value: JsonObject,
  where: string,
): string {
  if (text.replace(/^\uFEFF/, '').trim() === '')
    return `${JSON.stringify({ [object]: { [name]: value } }, null, 2)}\n`
  const root = readJson(text, where)
  const byHand = `Write there yourself: ${JSON.stringify({ [object]: { [name]: value } })}`
  if (root.members === null)
    throw new KiwiError('PARSE_ERROR', `Cannot read "${where}": it is no object`, { hint: byHand })
  const style = styleOf(text, root)
  const holder = member(root, object)
  if (holder === null) return insert(text, root, [object, { [name]: value }], style)
  if (holder.value.members === null)
    throw new KiwiError('CONFLICT', `Cannot change "${where}": its "${object}" is no object`, {
      hint: byHand,
    })
  const there = member(holder.value, name)
  if (there === null) return insert(text, holder.value, [name, value], style)
  const { start, end } = there.value
  const isOneLine = !text.slice(holder.value.start, there.start).includes('\n')
  const put = isOneLine ? JSON.stringify(value) : written(value, indentAt(text, there.start), style)
  return text.slice(0, start) + put + text.slice(end)
}

/** What a reader takes: the last of several. */
function member({ members }: JsonNode, key: string): JsonMember | null {
  return members?.findLast((each) => each.key === key) ?? null
}

interface Style {
  readonly unit: string
  readonly line: string
}

function styleOf(text: string, { members }: JsonNode): Style {
  const [first] = members ?? []
  const unit = first === undefined ? '' : indentAt(text, first.start)
  return { unit: unit === '' ? '  ' : unit, line: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** The blanks in front of what begins here, when nothing else stands before it on its line. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^[ \t]*$/.test(line) ? line : (/^[ \t]*/.exec(line)?.[0] ?? '')
}

function written(value: JsonObject, indent: string, { unit, line }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', line + indent)
}

/** Behind the last member and what is said about it. */
function insert(
  text: string,
  object: JsonNode,
  [key, value]: readonly [string, JsonObject],
  style: Style,
): string {
  const close = object.end - 1
  const last = object.members?.at(-1)
  const outer = indentAt(text, lineStart(text, object.start))
  if (last === undefined) {
    const inner = outer + style.unit
    const said = text.slice(object.start + 1, close).trimEnd()
    const added = `${style.line}${inner}${JSON.stringify(key)}: ${written(value, inner, style)}${style.line}${outer}`
    return text.slice(0, object.start + 1) + said + added + text.slice(close)
  }
  const isOneLine = !text.slice(object.start, last.start).includes('\n')
  if (isOneLine) {
    const added = `${JSON.stringify(key)}: ${JSON.stringify(value)}`
    const at = last.comma === null ? last.value.end : last.comma + 1
    return `${text.slice(0, at)}${last.comma === null ? ', ' : ' '}${added}${text.slice(at)}`
  }
  const indent = indentAt(text, last.start)
  const end = last.value.end
  const comma = last.comma === null ? ',' : ''
  const said = text.slice(end, close).trimEnd()
  const added = `${style.line}${indent}${JSON.stringify(key)}: ${written(value, indent, style)}`
  return text.slice(0, end) + comma + said + added + text.slice(end + said.length)
}

/** Where the line of something begins, behind its blanks. */
function lineStart(text: string, at: number): number {
  const from = text.lastIndexOf('\n', at - 1) + 1
  return from + (/^[ \t]*/.exec(text.slice(from, at))?.[0].length ?? 0)
}
