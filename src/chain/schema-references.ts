import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'

/** Keywords that refer to another place of the schema. */
export const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
/** Keywords that hold schemas by name, so that the names are no keywords. */
export const BY_NAME: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
])
/** Keywords that hold schemas which count only where they are referred to. */
export const APART: ReadonlySet<string> = new Set(['$defs', 'definitions'])
/** Keywords that hold data: nothing in them is a keyword. */
export const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])

/** The place a reference leads to. One that leaves the schema, or leads nowhere, is refused. */
export type FindTarget = (reference: string) => unknown

/**
 * What we cannot follow is not left to the engine: it might follow it, past the bound that is drawn here.
 * For the same reason a schema inside may not have an `$id`: references below it would start from there.
 */
export function openTargets(schema: JsonObject, what: string): FindTarget {
  const anchors = anchorsOf(schema, what)
  return (reference) => {
    if (!reference.startsWith('#')) {
      throw new KiwiError(
        'SCHEMA_TOO_COSTLY',
        `Cannot use ${what}: its reference "${reference}" is not local`,
        { hint: 'Write what it refers to into $defs of the same schema' },
      )
    }
    const path = decode(reference.slice(1))
    const target = path === '' || path?.startsWith('/') ? valueAt(schema, path) : anchors.get(path ?? '')
    if (target !== undefined) return target
    throw new KiwiError(
      'INVALID_MANIFEST',
      `Cannot use ${what}: its reference "${reference}" leads nowhere`,
      {
        hint: 'Correct the JSON Schema',
      },
    )
  }
}

function anchorsOf(schema: JsonObject, what: string): ReadonlyMap<string, unknown> {
  const anchors = new Map<string, unknown>()
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) collect(item)
    if (!isObject(node)) return
    for (const [key, value] of Object.entries(node)) {
      if (DATA.has(key)) continue
      if (typeof value === 'string') {
        if (key === '$anchor' || key === '$dynamicAnchor') anchors.set(value, node)
        if (key === '$id' && node !== schema) throw innerId(what, value)
      }
      collect(BY_NAME.has(key) || APART.has(key) ? valuesOf(value) : value)
    }
  }
  collect(schema)
  return anchors
}

/** The schemas of a keyword that holds them by name. */
export function valuesOf(value: unknown): unknown {
  return isObject(value) ? Object.values(value) : value
}

function valueAt(schema: JsonObject, pointer: string): unknown {
  let node: unknown = schema
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    node = Reflect.get(node, key)
  }
  return node
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function innerId(what: string, id: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: a schema inside it has the $id "${id}"`, {
    hint: 'Refer to it by its place instead, such as #/$defs/name',
  })
}
