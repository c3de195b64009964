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
export function searchResults(found: readonly FoundItem[], isPerson: boolean, about: About): JsonObject {
  // Who sent a query knows it, and it may be as long as all results.
  const beside = isPerson ? { ...about } : { ...about, query: cutText(about.query, MOST_QUERY) }
  const whole = { results: found.map(wholeResult), ...beside }
  const most = Math.max(LEAST_BYTES, RESULT_BYTES * found.length)
  if (isPerson || found.length <= ALWAYS_WHOLE || bytesOf(whole) <= most) return whole
  const empty = { call_format: CALL_FORMAT, results: [] }
  const left = most - bytesOf(empty) - bytesOf(beside)
  return { ...empty, results: shortResults(found, left), ...beside }
}

interface About {
  readonly total: number
  readonly query: string
}

const MOST_QUERY = 160

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

/**
 * Characters of the line of parameters, and of what must be given in it: what is there to be shared decides how much of
 * it is shown. Last of all that is cut which a call needs; `least` is what a description should have then, in bytes.
 */
const LINES: readonly LineTier[] = [
  ...[72, 48, 24, 0].map((longest) => ({ longest, must: Infinity, least: 48 })),
  ...[96, 64, 32, 0].map((must) => ({ longest: 0, must, least: 16 })),
]

interface LineTier {
  readonly longest: number
  readonly must: number
  readonly least: number
}

const MOST_DESCRIPTION = 200
const MOST_FIRST_CALL = 240
const MOST_WARNING = 80

function shortResults(found: readonly FoundItem[], most: number): readonly JsonObject[] {
  const texts = found.map(({ hit, item }) => cutText(firstSentence(describe(hit, item)), MOST_DESCRIPTION))
  let results: readonly JsonObject[] = []
  let left = 0
  for (const tier of LINES) {
    results = found.map((one, at) => shortResult(one, at === 0, tier))
    left = most - bytesOf(results)
    if (left >= tier.least * found.length) break
  }
  const given = shares(texts.map(writtenBytes), left)
  return results.map((result, at) => ({ ...result, description: cutText(texts[at] ?? '', given[at] ?? 0) }))
}

/** All but the text of its description, in the order in which it is read. What goes without saying is left out. */
function shortResult({ hit, id, item }: FoundItem, isFirst: boolean, tier: LineTier): JsonObject {
  const type: ItemType = itemTypeOf(hit.tool_type)
  const call = item === null ? null : readyCall(item.manifest)
  const line =
    item === null || call === null ? '' : parameterLine(inputSchema(item.manifest), tier.longest, tier.must)
  const ready = call === null ? null : { ...call, item_id: id }
  const isRoomy = tier.must > 0 && bytesOf(ready) <= MOST_FIRST_CALL
  const isCallShown = ready === null || (isFirst && isRoomy)
  const isRaised = hit.why.includes(USED)
  return {
    id,
    ...(type === 'tool' ? {} : { item_type: type }),
    description: '',
    ...(line === '' ? {} : { parameters: line }),
    ...(isCallShown ? { call: ready } : {}),
    ...(isRaised ? { why: [USED] } : {}),
    ...warningOf(item),
  }
}

/** Of a tool of a server it says whether it can be called; of other items it is for who wrote them. */
function warningOf(item: Item | null): JsonObject {
  if (item === null || item.warnings.length === 0 || toolOfServer(item)['mcp'] === undefined) return {}
  return { warning: cutText(item.warnings.join('; '), MOST_WARNING) }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
