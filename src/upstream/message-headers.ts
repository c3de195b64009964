import { KiwiError } from '../shared/errors.ts'
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
const MOST_LEVELS = 32

/** An argument that a header repeats: where it stands, and which header. */
interface Mirror {
  readonly path: readonly string[]
  readonly header: string
}

/**
 * The `Mcp-Param-*` headers of a call: the arguments whose schema says `x-mcp-header`. A schema that says so wrongly is
 * refused: whoever goes between would take the call for another one. `id` is how people know the tool.
 */
export function parameterHeaders(
  id: string,
  schema: JsonValue | undefined,
  given: JsonObject,
): Record<string, string> {
  const mirrors: Mirror[] = []
  const names = (): Set<string> => new Set(mirrors.map(({ header }) => header))
  const fault =
    findMirrors(schema, [], mirrors) ?? (names().size < mirrors.length ? 'it names a header twice' : null)
  if (fault !== null) {
    throw new KiwiError('INVALID_MANIFEST', `Cannot call "${id}": ${fault}`, {
      hint: 'Ask the person who runs the server to correct the schema of the tool',
    })
  }
  return Object.fromEntries(
    mirrors.flatMap(({ path, header }) => {
      const value = valueAt(given, path)
      return isMirrored(value) ? [[header, headerText(`${value}`)]] : []
    }),
  )
}

function valueAt(given: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (inner, key) => (isJsonObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    given,
  )
}

/** Collects what stands along `properties`; `path` is null where no argument can be told, and nothing may stand. */
function findMirrors(
  schema: JsonValue | undefined,
  path: readonly string[] | null,
  mirrors: Mirror[],
  level = 0,
): string | null {
  if (typeof schema !== 'object' || schema === null || level > MOST_LEVELS) return null
  if (!isJsonObject(schema))
    return firstFault(schema.map((each) => findMirrors(each, null, mirrors, level + 1)))
  const { 'x-mcp-header': name, type } = schema
  if (name !== undefined) {
    if (path === null || path.length === 0) return 'x-mcp-header stands where no argument is'
    if (typeof name !== 'string' || !TOKEN.test(name))
      return `x-mcp-header of ${path.join('.')} is no name of a header`
    if (!MIRRORED.has(type)) return `x-mcp-header of ${path.join('.')} stands at a type that no header holds`
    mirrors.push({ path, header: `mcp-param-${name.toLowerCase()}` })
  }
  return firstFault(
    Object.entries(schema).map(([key, part]) => {
      if (VALUES.has(key)) return null
      if (key !== 'properties' || !isJsonObject(part)) return findMirrors(part, null, mirrors, level + 1)
      const inner = Object.entries(part)
      return firstFault(
        inner.map(([own, each]) =>
          findMirrors(each, path === null ? null : [...path, own], mirrors, level + 1),
        ),
      )
    }),
  )
}

/** Keys whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['x-mcp-header', 'enum', 'const', 'default', 'examples'])

function firstFault(faults: readonly (string | null)[]): string | null {
  return faults.find((fault) => fault !== null) ?? null
}

function isMirrored(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)
}

const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
const MARKED = /^=\?base64\?.*\?=$/

/** What a header cannot hold as it is goes in base64, with a mark that says so. */
function headerText(value: string): string {
  if (PLAIN.test(value) && !MARKED.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}
