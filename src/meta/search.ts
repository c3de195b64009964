import { z } from 'zod'
import type { ItemJudge } from '../kernel/item-demand.ts'
import { KiwiError } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemType, ToolType } from '../shared/tool-type.ts'
import { ITEM_TYPES, itemTypeOf } from '../shared/tool-type.ts'
import type { Query } from '../search/parse-query.ts'
import { MCP_TYPES, parseQuery, spacesOf } from '../search/parse-query.ts'
import { rankItems } from '../search/rank-items.ts'
import type { Fault } from '../spaces/file-space.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import { readyCall } from '../spaces/ready-call.ts'
import type { SearchHit } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import type { Arguments } from './arguments.ts'
import { readItemType } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { judgedItem } from './judged.ts'
import { fillVectors, rankByMeaning } from './by-meaning.ts'
import { refreshServers } from './refresh-servers.ts'
import { toolOfServer } from './tool-of-server.ts'

interface Found {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

const MOST_FAULTS = 5
/** Hits that are held against the policy where it hides some. */
const MOST_JUDGED = 1000
/** Of the input schema of each result; load shows it whole. */
const SCHEMA_BYTES = 2048
/** Of each result; load shows the rest. */
const DESCRIPTION_CHARACTERS = 500

/** Finds items in all spaces by one index. Nothing of them is run. */
export async function search(args: Arguments<'search'>, call: MetaCall): Promise<Found> {
  const { store, kernel, lookupAt, wordTable } = call
  const lookup = await lookupAt(args.project_path)
  const query = parseQuery(args.query)
  const meaning = rankByMeaning(args, call)
  const before = await lookup.syncIndex()
  const spaces = query.spaces ?? (args.source === 'mcp' ? SPACES : (spacesOf(args.source) ?? SPACES))
  const itemTypes = itemTypesOf(args)
  const { hasMore, warnings } =
    spaces.includes('mcp') && itemTypes.includes('tool')
      ? await refreshServers(lookup, { ...aboutServers(args, query), projectPath: args.project_path }, call)
      : NOTHING_NEW
  if (hasMore) lookup.freshen(true)
  const { faults, places } = hasMore ? await lookup.syncIndex() : before
  const judge = await kernel.itemJudge(lookup.projectPath)
  const wanted = {
    words: query.words,
    spaces,
    roots: places,
    itemTypes,
    toolTypes: toolTypesOf(args, query.toolTypes),
    category: args.category ?? null,
    tags: [...query.tags, ...args.tags],
    server: query.server,
    sortBy: args.sort_by,
  }
  await fillVectors(places, lookup, call)
  const { rankings, warnings: ofMeaning } = await meaning
  const ranked = (limit: number): Ranked => rankItems({ ...wanted, limit }, rankings, { store, wordTable })
  const { hits, total } = judge.refusesSome
    ? await searchUsable(ranked, judge, lookup, args.limit)
    : await ranked(args.limit)
  await lookup.prefetch(hits.filter(({ path }) => path === null).map(({ item_id }) => item_id))
  const usurpers: string[] = []
  const found = await Promise.all(hits.map((hit) => toResult(hit, lookup, usurpers)))
  const results = found.filter((result) => result !== null)
  return {
    data: { results, total: total - hits.length + results.length, query: args.query },
    warnings: [...warnings, ...ofMeaning, ...usurpers, ...faultWarnings(faults)],
  }
}

type Ranked = ReturnType<typeof rankItems>

const NOTHING_NEW = { hasMore: false, warnings: [] }

/** Whose search it is: of one server, of servers, or of anything. */
function aboutServers(
  { query: text, source }: Arguments<'search'>,
  { server, spaces }: Query,
): { readonly only: string | null; readonly isAboutServers: boolean } {
  const isAboutServers = /(?:^|\s)mcp:\S/.test(text) || source === 'mcp' || spaces?.[0] === 'mcp'
  return { only: server, isAboutServers }
}

/** What nobody could run here is not shown, and not counted as far as it was looked at. */
async function searchUsable(
  ranked: (limit: number) => Ranked,
  judge: ItemJudge,
  lookup: Lookup,
  limit: number,
): Ranked {
  const { hits, total } = await ranked(MOST_JUDGED)
  const isUsable = await Promise.all(hits.map(async (hit) => isUsableHit(hit, judge, lookup)))
  const usable = hits.filter((_, at) => isUsable[at])
  return { hits: usable.slice(0, limit), total: total - hits.length + usable.length }
}

async function isUsableHit(hit: SearchHit, judge: ItemJudge, lookup: Lookup): Promise<boolean> {
  const { item_id: id, tool_type: type, space } = hit
  const known = { id, type, space, executor: null, config: {}, category: null }
  if (type !== 'mcp_tool') return judge.refusalOf(known) === null
  // Which server it belongs to stands in its manifest.
  const item = await lookup.find(parseItemRef(id), 'tool', space).catch(() => null)
  return judge.refusalOf(item === null ? known : judgedItem(item)) === null
}

function toolTypesOf(
  { tool_type, source }: Arguments<'search'>,
  asked: readonly ToolType[],
): readonly ToolType[] {
  if (tool_type !== undefined) return [tool_type]
  return source === 'mcp' ? MCP_TYPES : asked
}

function itemTypesOf({ item_type }: Arguments<'search'>): readonly ItemType[] {
  return item_type === undefined || item_type === 'all' ? ITEM_TYPES : [readItemType(item_type)]
}

/** What is called like a tool of a server and is none is not shown: the tool of the server is, if there is one. */
async function toResult(hit: SearchHit, lookup: Lookup, usurpers: string[]): Promise<JsonObject | null> {
  const found = await foundItem(hit, hit.item_id, lookup).catch(() => null)
  const refusal = found === null ? null : await lookup.foreignName(found.item, 'use').catch(() => null)
  if (refusal !== null) {
    usurpers.push(refusal.message)
    const meant = await lookup.find(parseItemRef(hit.item_id), 'tool', 'mcp').catch(() => null)
    if (meant === null) return null
    const { description, version } = meant.manifest
    const listed = { tool_type: 'mcp_tool', space: 'mcp', path: null, item_id: meant.id } as const
    return toResult({ ...hit, ...listed, name: meant.id, description, version }, lookup, usurpers)
  }
  const call = found === null ? null : readyCall(found.item.manifest)
  return {
    id: hit.item_id,
    name: hit.name,
    item_type: itemTypeOf(hit.tool_type),
    tool_type: hit.tool_type,
    // The index has of what a server wrote the words alone.
    description: (hit.space === 'mcp' && found !== null
      ? found.item.manifest.description
      : hit.description
    ).slice(0, DESCRIPTION_CHARACTERS),
    source: hit.space,
    path: hit.path,
    version: hit.version,
    score: hit.score,
    why: hit.why,
    call: call === null ? null : { ...call, item_id: found?.id ?? hit.item_id },
    ...(found === null ? {} : serverTool(found.item)),
  }
}

/** An id that several files of a space have is called by its category as well. */
async function foundItem(
  hit: SearchHit,
  id: string,
  lookup: Lookup,
): Promise<{ readonly item: Item; readonly id: string } | null> {
  try {
    const item = await lookup.find(parseItemRef(id), itemTypeOf(hit.tool_type), hit.space)
    return item === null ? null : { item, id }
  } catch (error) {
    const full = error instanceof KiwiError ? candidateAt(hit.path, error) : undefined
    if (full === undefined || full === id) throw error
    return foundItem(hit, full, lookup)
  }
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

function candidateAt(path: string | null, { details }: KiwiError): string | undefined {
  const { data = [] } = Candidates.safeParse(details['candidates'])
  return data.find((candidate) => candidate.path === path)?.id
}

const Candidates = z.array(z.object({ id: z.string(), path: z.string() }))

function faultWarnings(faults: readonly Fault[]): readonly string[] {
  const shown = faults.slice(0, MOST_FAULTS).map(({ reason }) => reason)
  return faults.length > MOST_FAULTS
    ? [...shown, `${faults.length - MOST_FAULTS} more files cannot be read`]
    : shown
}
