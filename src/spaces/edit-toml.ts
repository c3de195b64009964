import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson, isJsonObject } from '../shared/json.ts'
import { parseToml } from './parse-toml.ts'

/**
 * The same text with these keys in the table `object.name`: every other line stays, comments and all. It is read again
 * before it is given back, so what cannot be changed line by line is refused and never spoilt.
 */
export async function setToml(
  text: string,
  [object, name]: readonly [string, string],
  value: JsonObject,
  where: string,
): Promise<string> {
  const before = await parseToml(text, where)
  const holder = before[object] ?? {}
  const there = isJsonObject(holder) ? holder[name] : undefined
  const edited = withTable(text, `${object}.${name}`, value)
  const wanted = {
    ...before,
    [object]: {
      ...(isJsonObject(holder) ? holder : {}),
      [name]: { ...(isJsonObject(there) ? there : {}), ...value },
    },
  }
  const after = await parseToml(edited, where).catch(() => null)
  if (after !== null && canonicalJson(after) === canonicalJson(wanted)) return edited
  throw new KiwiError('CONFLICT', `Cannot change "${where}": its "${object}" is not written as a table`, {
    hint: `Put this into it yourself:\n${tableText(`${object}.${name}`, value, '\n')}`,
    details: { path: where },
  })
}

function withTable(text: string, table: string, value: JsonObject): string {
  const line = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split(/\r?\n/)
  const from = lines.findIndex((each) => headerOf(each) === table)
  if (from < 0) {
    const gap = text.replace(/^\uFEFF/, '').trim() === '' ? '' : text.endsWith('\n') ? line : line + line
    return `${text}${gap}${tableText(table, value, line)}${line}`
  }
  const found = lines.findIndex((each, at) => at > from && headerOf(each) !== null)
  const to = found < 0 ? lines.length : found
  const body = lines.slice(from + 1, to).filter((each) => !(keyOf(each) in value))
  return [...lines.slice(0, from + 1), ...linesOf(value), ...body, ...lines.slice(to)].join(line)
}

/** The name of the table that begins with this line; null for any other line. */
function headerOf(line: string): string | null {
  const [, name] = /^\s*\[{1,2}([^\]]+)\]{1,2}\s*(?:#.*)?$/.exec(line) ?? []
  return name === undefined ? null : name.replaceAll(/["'\s]/g, '')
}

function keyOf(line: string): string {
  return /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? ''
}

function tableText(table: string, value: JsonObject, line: string): string {
  return [`[${table}]`, ...linesOf(value)].join(line)
}

function linesOf(value: JsonObject): readonly string[] {
  return Object.entries(value).map(([key, each]) => `${key} = ${valueText(each)}`)
}

/** JSON writes texts and lists as TOML does. */
function valueText(value: JsonValue): string {
  return Array.isArray(value) ? `[${value.map(valueText).join(', ')}]` : JSON.stringify(value)
}
