import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { FindTarget } from './schema-references.ts'
import { APART, BY_NAME, DATA, openTargets, REFERENCES, valuesOf } from './schema-references.ts'

/** Keywords whose schemas apply to the same value: a reference back through them alone would never end. */
const IN_PLACE = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
])
/** What one turn of a recursive schema is taken to cost; how often it turns is for the engine to bound. */
const TURN = 200
/** Schemas within schemas, references followed: deeper ones could overflow the stack. */
const DEEPEST = 1000

/**
 * Refuses a schema before it is compiled when checking could take too long: references are counted as often as
 * they are followed, so a short chain of alternatives shows its true size. Returns the references that recur.
 */
export function judgeSchema(schema: JsonObject, what: string): ReadonlySet<string> {
  const find = openTargets(schema, what)
  const known = new Map<string, number>()
  const open = new Set<string>(['#'])
  const recurring = new Set<string>()
  let depth = 0

  const costOf = (node: unknown): number => {
    if (typeof node !== 'object' || node === null) return 0
    depth += 1
    if (depth > DEEPEST) throw tooCostly(what)
    const isList = Array.isArray(node)
    let cost = isList ? 0 : 1
    for (const [key, value] of Object.entries(node)) {
      cost += isList ? costOf(value) : costOfKeyword(key, value)
      if (cost > LIMITS.schemaCost) throw tooCostly(what)
    }
    depth -= 1
    return cost
  }

  const costOfKeyword = (key: string, value: unknown): number => {
    if (DATA.has(key) || APART.has(key)) return 0
    if (REFERENCES.has(key)) return costOfReference(String(value))
    return costOf(BY_NAME.has(key) ? valuesOf(value) : value)
  }

  const costOfReference = (reference: string): number => {
    const cost = known.get(reference)
    if (cost !== undefined) return cost
    if (open.has(reference)) {
      recurring.add(reference)
      return TURN
    }
    open.add(reference)
    const found = costOf(find(reference))
    open.delete(reference)
    known.set(reference, found)
    return found
  }

  costOf(schema)
  assertEnds(['#', ...known.keys()], find, what)
  return recurring
}

/** Refuses references that lead back to themselves while still at the same value. */
function assertEnds(references: readonly string[], find: FindTarget, what: string): void {
  const ended = new Set<string>()
  const open = new Set<string>()
  const follow = (reference: string): void => {
    if (ended.has(reference)) return
    if (open.has(reference)) throw endless(what, reference)
    if (open.size >= DEEPEST) throw tooCostly(what)
    open.add(reference)
    for (const next of inPlace(find(reference))) follow(next)
    open.delete(reference)
    ended.add(reference)
  }
  for (const reference of references) follow(reference)
}

/** The references that apply to the same value as this schema does. */
function inPlace(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(inPlace)
  if (!isObject(node)) return []
  return Object.entries(node).flatMap(([key, value]) => {
    if (REFERENCES.has(key)) return [String(value)]
    if (!IN_PLACE.has(key)) return []
    return inPlace(BY_NAME.has(key) ? valuesOf(value) : value)
  })
}

function tooCostly(what: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: it exceeds a cost of ${LIMITS.schemaCost}`)
}

function endless(what: string, reference: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: "${reference}" leads back to itself`)
}
