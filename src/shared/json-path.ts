import type * as jsonP3 from 'json-p3'
import type { JSONPathNode, JSONPathQuery, JSONValue } from 'json-p3'
import { KiwiError, messageOf } from './errors.ts'
import type { JsonValue } from './json.ts'
import { isObject } from './json.ts'

type Package = typeof jsonP3
type Segment = JSONPathQuery['segments'][number]
type Walk = (query: JSONPathQuery, value: JSONValue) => Generator<JSONPathNode>
type Spend = (steps: number) => void

/** More places than any honest selection has, and more steps than any honest path takes to find them. */
const MOST_PLACES = 100_000
const MOST_STEPS = 500_000

/**
 * Selects from a value by RFC 9535. A path to one place gives that value or null; a path to many gives a list.
 * A leading `$` may be left out. Patterns are not evaluated: they would run on an engine that can be made to hang.
 */
export async function selectPath(value: JsonValue, path: string): Promise<JsonValue> {
  const json = await import('json-p3')
  try {
    const query = compile(json, normalise(path))
    const spend = openBudget()
    const walk = createWalk(json, spend)
    limitFilters(json, query, function* (inner, at) {
      for (const node of walk(inner, at)) {
        weigh(node.value, spend)
        yield node
      }
    })
    const found: JsonValue[] = []
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package's type is the same, without readonly
    for (const node of walk(query, value as JSONValue)) {
      if (found.length === MOST_PLACES) throw new Error(`it selects more than ${MOST_PLACES} places`)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is selected from JSON is JSON
      found.push(node.value as JsonValue)
    }
    return query.singularQuery() ? (found[0] ?? null) : found
  } catch (error) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot use the path "${path.slice(0, 160)}": ${messageOf(error)}`,
      {
        hint: 'Write a JSONPath such as $.items[0:5].name',
        cause: error,
      },
    )
  }
}

function compile({ JSONPathEnvironment }: Package, path: string): JSONPathQuery {
  const environment = new JSONPathEnvironment({ strict: true })
  environment.functionRegister.delete('match')
  environment.functionRegister.delete('search')
  return environment.compile(path)
}

function normalise(path: string): string {
  if (path.startsWith('$')) return path
  return path.startsWith('[') || path.startsWith('.') ? `$${path}` : `$.${path}`
}

/** One for all walks of a selection. */
function openBudget(): Spend {
  let left = MOST_STEPS
  return (steps) => {
    left -= steps
    if (left < 0) throw new Error(`it takes more than ${MOST_STEPS} steps`)
  }
}

/** Walks a query in place of the package, which counts nothing: a short path can lead to one place for hours. */
function createWalk(json: Package, spend: Spend): Walk {
  const { jsonpath, JSONPathNode: Node } = json
  function* descend(node: JSONPathNode): Generator<JSONPathNode> {
    const open = [node.value]
    for (let value = open.pop(); value !== undefined; value = open.pop()) {
      yield new Node(value, node.location, node.root)
      for (const child of childrenOf(value).toReversed()) open.push(child)
    }
  }
  function* step(segment: Segment, nodes: Iterable<JSONPathNode>): Generator<JSONPathNode> {
    for (const node of nodes) {
      for (const place of isDescent(json, segment) ? descend(node) : [node]) {
        for (const selector of segment.selectors) {
          const isFilter = selector instanceof jsonpath.selectors.FilterSelector
          spend(isFilter ? 1 + childrenOf(place.value).length : 1)
          yield* selector.lazyResolve(place)
        }
      }
    }
  }
  return function* walk(query, value) {
    let nodes: Iterable<JSONPathNode> = [new Node(value, [], value)]
    for (const segment of query.segments) nodes = step(segment, nodes)
    for (const node of nodes) {
      spend(1)
      yield node
    }
  }
}

/** Paths inside filters are walked by the same walk, once for every place that is judged; none of them may descend. */
function limitFilters(json: Package, query: JSONPathQuery, walk: Walk): void {
  const { selectors } = json.jsonpath
  for (const selector of query.segments.flatMap((segment) => segment.selectors)) {
    if (!(selector instanceof selectors.FilterSelector)) continue
    for (const inner of queriesIn(json, selector.expression)) {
      if (inner.segments.some((segment) => isDescent(json, segment)))
        throw new Error('a filter may not search all levels')
      limitFilters(json, inner, walk)
      inner.lazyQuery = (value) => walk(inner, value)
    }
  }
}

function* queriesIn(json: Package, expression: object): Generator<JSONPathQuery> {
  for (const part of Object.values(expression)) {
    if (part instanceof json.JSONPathQuery) yield part
    if (Array.isArray(part) || part instanceof json.jsonpath.expressions.FilterExpression) {
      yield* queriesIn(json, part)
    }
  }
}

function isDescent({ TokenKind }: Package, { token }: Segment): boolean {
  return token.kind === TokenKind.DDOT
}

/** What a filter finds it may compare, part by part. */
function weigh(value: JSONValue, spend: Spend): void {
  const open = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    spend(1)
    for (const child of childrenOf(next)) open.push(child)
  }
}

function childrenOf(value: JSONValue): readonly JSONValue[] {
  if (Array.isArray(value)) return value
  return isObject(value) ? Object.values(value) : []
}
