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
/** Characters of data that cost as much as one schema, for each value they meet: texts are compared, defaults copied. */
const DATA_PER_COST: ReadonlyMap<string, number> = new Map([
  ['enum', 100],
  ['const', 100],
  ['default', 10],
])
/** Parts of a schema that come before another or around it: the engine nests all of them, which takes their square. */
const MOST_BEFORE = 500
/** Schemas within schemas, references followed: deeper ones could overflow the stack. */
const DEEPEST = 1000

/** What is known of a schema before it is compiled. */
export interface Judgement {
  /** What one value can meet, in schemas; a reference that recurs counts one, how often it turns is for the engine. */
  readonly cost: number
  /** The references that recur. */
  readonly recurring: ReadonlySet<string>
}

/**
 * Refuses a schema before it is compiled when compiling or checking could take too long: references are counted as
 * often as they are followed, so a short chain of alternatives shows its true size.
 */
export function judgeSchema(schema: JsonObject, what: string): Judgement {
  assertSize(schema, what)
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
    if (DATA.has(key)) return costOfData(key, value)
    if (APART.has(key)) return 0
    if (REFERENCES.has(key)) return costOfReference(String(value))
    return costOf(BY_NAME.has(key) ? valuesOf(value) : value)
  }

  const costOfReference = (reference: string): number => {
    const cost = known.get(reference)
    if (cost !== undefined) return cost
    if (open.has(reference)) {
      recurring.add(reference)
      return 1
    }
    open.add(reference)
    const found = costOf(find(reference))
    open.delete(reference)
    known.set(reference, found)
    return found
  }

  const cost = costOf(schema)
  assertEnds(['#', ...known.keys()], find, what)
  return { cost, recurring }
}

function costOfData(key: string, value: unknown): number {
  const characters = DATA_PER_COST.get(key)
  return characters === undefined ? 0 : Math.floor(JSON.stringify(value).length / characters)
}

/** Refuses what takes long to compile, or is nested so deep by the engine that it would overflow the stack. */
function assertSize(schema: JsonObject, what: string): void {
  let size = 0
  const visit = (node: unknown, before: number): void => {
    size += 1
    if (size > LIMITS.schemaSize) throw tooLarge(what, `it has more than ${LIMITS.schemaSize} parts`)
    if (before > MOST_BEFORE) throw tooLarge(what, `it has more than ${MOST_BEFORE} parts in a row`)
    if (typeof node !== 'object' || node === null) return
    let place = before
    for (const [key, value] of Object.entries(node)) {
      if (DATA.has(key) || typeof value === 'string' || typeof value === 'number') continue
      place += 1
      visit(BY_NAME.has(key) || APART.has(key) ? valuesOf(value) : value, place)
    }
  }
  visit(schema, 0)
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

function tooLarge(what: string, reason: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: ${reason}`, {
    hint: 'Split the tool, or leave details to the tool itself',
  })
}

function tooCostly(what: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: it exceeds a cost of ${LIMITS.schemaCost}`)
}

function endless(what: string, reference: string): KiwiError {
  return new KiwiError('SCHEMA_TOO_COSTLY', `Cannot use ${what}: "${reference}" leads back to itself`)
}
