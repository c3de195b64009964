import { USED } from '../search/use-rankings.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import type { Item } from '../spaces/item.ts'
import { readyCall } from '../spaces/ready-call.ts'
import type { SearchHit } from '../store/store.ts'
import { parameterLine } from './parameter-line.ts'
import { cutText, firstSentence, shares, writtenBytes } from './short-text.ts'
import { toolOfServer } from './tool-of-server.ts'

/** One hit with the item behind it; null for one that cannot be read. */
export interface FoundItem {
  readonly hit: SearchHit
  /** What it is called by. */
  readonly id: string
  readonly item: Item | null
}

/** Ten results take at most 400 tokens of a context, at four bytes each. */
const RESULT_BYTES = 160
const LEAST_BYTES = 10 * RESULT_BYTES
/** So few are worth showing whole, whatever they take. */
const ALWAYS_WHOLE = 3

/**
 * What a search shows: whole results where they are few or short; else of each what it takes to choose one and to call
 * it, and once how that is done. A person has room for all. What stands beside the results is counted too.
 */
export function searchResults(
  found: readonly FoundItem[],
  isPerson: boolean,
  beside: JsonObject = {},
): JsonObject {
  const whole = { results: found.map(wholeResult), ...beside }
  const most = Math.max(LEAST_BYTES, RESULT_BYTES * found.length)
  if (isPerson || found.length <= ALWAYS_WHOLE || bytesOf(whole) <= most) return whole
  const empty = { call_format: CALL_FORMAT, results: [] }
  const left = most - bytesOf(empty) - Math.min(MOST_BESIDE, bytesOf(beside))
  return { ...empty, results: shortResults(found, left), ...beside }
}

/** A query may be as long as all results. */
const MOST_BESIDE = 200

/** Of the input schema of each result; load shows it whole. */
const SCHEMA_BYTES = 2048
/** Of each result; load shows the rest. */
const DESCRIPTION_CHARACTERS = 500

function wholeResult({ hit, id, item }: FoundItem): JsonObject {
  const call = item === null ? null : readyCall(item.manifest)
  return {
    id: hit.item_id,
    name: hit.name,
    item_type: itemTypeOf(hit.tool_type),
    tool_type: hit.tool_type,
    description: describe(hit, item).slice(0, DESCRIPTION_CHARACTERS),
    source: hit.space,
    path: hit.path,
    version: hit.version,
    score: hit.score,
    why: hit.why,
    call: call === null ? null : { ...call, item_id: id },
    ...(item === null ? {} : serverTool(item)),
  }
}

/** The index has of what a server wrote the words alone. */
function describe({ space, description }: SearchHit, item: Item | null): string {
  return space === 'mcp' && item !== null ? item.manifest.description : description
}

/** What a tool of a server has beside the rest. */
function serverTool(item: Item): JsonObject {
  const which = toolOfServer(item)
  if (which['mcp'] === undefined) return {}
  const parameters = inputSchema(item.manifest)
  const isShort = Buffer.byteLength(JSON.stringify(parameters)) <= SCHEMA_BYTES
  return {
    ...which,
    ...(item.warnings.length === 0 ? {} : { warning: item.warnings.join('; ') }),
    parameters: isShort ? parameters : `over ${SCHEMA_BYTES} bytes: load "${item.id}" shows them`,
  }
}

/** How a short result is called: with its own id, and what its `parameters` name. */
const CALL_FORMAT = { item_type: 'tool', action: 'run', item_id: '<id>', parameters: {} } as const

/** Characters of the line of parameters: what is there to be shared decides how much of it is shown. */
const LINES = [72, 48, 24, 0]
/** Bytes that a description should have at least. */
const LEAST_DESCRIPTION = 48
const MOST_DESCRIPTION = 200
const MOST_FIRST_CALL = 240
const MOST_WARNING = 80

function shortResults(found: readonly FoundItem[], most: number): readonly JsonObject[] {
  const texts = found.map(({ hit, item }) => cutText(firstSentence(describe(hit, item)), MOST_DESCRIPTION))
  let results: readonly JsonObject[] = []
  let left = 0
  for (const longest of LINES) {
    results = found.map((one, at) => shortResult(one, at === 0, longest))
    left = most - bytesOf(results)
    if (left >= LEAST_DESCRIPTION * found.length) break
  }
  const given = shares(texts.map(writtenBytes), left)
  return results.map((result, at) => ({ ...result, description: cutText(texts[at] ?? '', given[at] ?? 0) }))
}

/** All but the text of its description, in the order in which it is read. What goes without saying is left out. */
function shortResult({ hit, id, item }: FoundItem, isFirst: boolean, longest: number): JsonObject {
  const type: ItemType = itemTypeOf(hit.tool_type)
  const call = item === null ? null : readyCall(item.manifest)
  const line = item === null || call === null ? '' : parameterLine(inputSchema(item.manifest), longest)
  const ready = call === null ? null : { ...call, item_id: id }
  const isCallShown = ready === null || (isFirst && bytesOf(ready) <= MOST_FIRST_CALL)
  const isRaised = hit.why.includes(USED)
  return {
    id,
    ...(type === 'tool' ? {} : { item_type: type }),
    description: '',
    ...(line === '' ? {} : { parameters: line }),
    ...(isCallShown ? { call: ready } : {}),
    ...(isRaised ? { why: [USED] } : {}),
    ...(item === null || item.warnings.length === 0
      ? {}
      : { warning: cutText(item.warnings.join('; '), MOST_WARNING) }),
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
