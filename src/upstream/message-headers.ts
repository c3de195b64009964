import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

/** The first revision without sessions: every request says in its headers what its body says. */
const FIRST_STATELESS = '2026-07-28'

export function isStateless(protocol: string | null): boolean {
  return protocol !== null && protocol >= FIRST_STATELESS
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** Which parameter of a method its `Mcp-Name` repeats. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** What the headers must repeat of a message that names its revision; nothing for one of an older revision. */
export function messageHeaders({ id, method, params }: JsonObject): Record<string, string> {
  if (id === undefined || typeof method !== 'string' || !isJsonObject(params)) return {}
  const meta = params['_meta']
  const version = isJsonObject(meta) ? meta[VERSION_KEY] : undefined
  if (typeof version !== 'string') return {}
  const name = params[NAMED.get(method) ?? '']
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
  }
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const MIRRORED: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
/** Deeper ones would be no parameter that a person could name. */
const MOST_LEVELS = 16

/**
 * The `Mcp-Param-*` headers of a call: the arguments whose schema says `x-mcp-header`, found along `properties` only.
 * One that is written wrongly is left out: the server says what it misses.
 */
export function parameterHeaders(schema: JsonValue | undefined, given: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {}
  const visit = (part: JsonValue | undefined, value: JsonValue | undefined, level: number): void => {
    if (!isJsonObject(part) || level > MOST_LEVELS) return
    const { 'x-mcp-header': name, type, properties } = part
    if (typeof name === 'string' && TOKEN.test(name) && MIRRORED.has(type) && isMirrored(value)) {
      headers[`mcp-param-${name.toLowerCase()}`] = headerText(String(value))
    }
    if (!isJsonObject(properties) || !isJsonObject(value)) return
    for (const [key, inner] of Object.entries(properties)) {
      if (Object.hasOwn(value, key)) visit(inner, value[key], level + 1)
    }
  }
  visit(schema, given, 0)
  return headers
}

function isMirrored(value: JsonValue | undefined): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)
}

const PLAIN = /^(?=\S)[\t\x20-\x7e]*\S$/
const MARKED = /^=\?base64\?.*\?=$/

/** What a header cannot hold as it is goes in base64, with a mark that says so. */
function headerText(value: string): string {
  if (PLAIN.test(value) && !MARKED.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}
