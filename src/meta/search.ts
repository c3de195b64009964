import { basename } from 'node:path'
import { z } from 'zod'
import type { ItemJudge } from '../kernel/item-demand.ts'
import { KiwiError } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { serverName } from '../shared/groups.ts'
import type { ItemType, ToolType } from '../shared/tool-type.ts'
import { textOf } from '../shared/template.ts'
import { ITEM_TYPES, itemTypeOf } from '../shared/tool-type.ts'
import type { Query } from '../search/parse-query.ts'
import { nameIn } from '../search/named-first.ts'
import { MCP_TYPES, parseQuery, spacesOf, spokenIn, strangeModifiers } from '../search/parse-query.ts'
import { rankItems } from '../search/rank-items.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import type { Fault } from '../spaces/file-space.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { SearchHit } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import type { Arguments } from './arguments.ts'
import { LANGUAGES, readItemType } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { judgedItem } from '../kernel/item-demand.ts'
import { openMeaning } from './by-meaning.ts'
import { refreshServers } from './refresh-servers.ts'
import type { FoundItem } from './search-results.ts'
import { searchResults } from './search-results.ts'
import { cutText } from './short-text.ts'

interface Found {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

const MOST_FAULTS = 5
/** Hits that are held against the policy where it hides some. */
const MOST_JUDGED = 1000
/** Spaces that no folder and no server stands behind. */
const OF_THE_STORE = [
  { space: 'builtin', root: '' },
  { space: 'registry', root: '' },
] as const

/** Finds items in all spaces by one index. Nothing of them is run. */
export async function search(args: Arguments<'search'>, call: MetaCall): Promise<Found> {
  const { store, kernel, learning, ticket, lookupAt, wordTable } = call
  const lookup = await lookupAt(args.project_path)
  const query = queryOf(args)
  const meaning = openMeaning(args, call)
  const before = await lookup.syncIndex()
  const spaces = query.spaces ?? (args.source === 'mcp' ? SPACES : (spacesOf(args.source) ?? SPACES))
  const toolTypes = toolTypesOf(args, query.toolTypes)
  const itemTypes = itemTypesOf(args, toolTypes)
  const { hasMore, warnings } =
    spaces.includes('mcp') && itemTypes.includes('tool')
      ? await refreshServers(lookup, { ...aboutServers(args, query), projectPath: args.project_path }, call)
      : NOTHING_NEW
  if (hasMore) lookup.freshen(true)
  const { faults, places } = hasMore ? await lookup.syncIndex() : before
  const judge = await kernel.itemJudge(lookup.projectPath)
  const wanted = {
    words: query.words,
    name: nameIn(spokenIn(args.query)),
    said: spokenIn(args.query),
    spaces,
    roots: places,
    itemTypes,
    toolTypes,
    category: args.category ?? null,
    tags: [...query.tags, ...kindOf(args).tags, ...args.tags],
    server: query.server,
    sortBy: args.sort_by,
  }
  const { rankings: ofMeaning, read, warnings: aboutMeaning } = await meaning.rank(places, lookup)
  // What is kept of a query holds no secret.
  const said = textOf(kernel.redact(args.query))
  const used = await learning.rankings(said, [...OF_THE_STORE, ...places])
  const rankings = [...ofMeaning, ...used]
  const ranked = (limit: number): Ranked =>
    rankItems({ ...wanted, limit }, { rankings, read }, { store, wordTable })
  const { hits, total } = judge.refusesSome
    ? await searchUsable(ranked, judge, lookup, args.limit)
    : await ranked(args.limit)
  await lookup.prefetch(hits.filter(({ path }) => path === null).map(({ item_id }) => item_id))
  const usurpers: string[] = []
  const all = await Promise.all(hits.map((hit) => foundItem(hit, lookup, usurpers)))
  const found = all.filter((one) => one !== null)
  // What a project that nobody trusts shows, and in which order, teaches nothing.
  if (lookup.projectPath === null || (await kernel.isTrusted(lookup.projectPath)))
    learning.shown(
      ticket.caller,
      said,
      found.map(({ hit }) => hit),
      () => Promise.resolve(lookup.projectPath),
    )
  return {
    data: searchResults(found, ticket.caller.kind === 'person', {
      total: Math.max(found.length, total - hits.length + found.length),
      query: args.query,
    }),
    warnings: [
      ...withoutWords(query, args.query),
      ...(found.length === 0 ? strangeModifiers(cutText(args.query, 200), LANGUAGES) : []),
      ...warnings,
      ...aboutMeaning,
      ...usurpers,
      ...faultWarnings(faults, ticket.caller.kind === 'person'),
    ],
  }
}

type Ranked = ReturnType<typeof rankItems>

/** What is asked for: an argument says the same as a modifier, and counts more. */
function queryOf({ query: text, server }: Arguments<'search'>): Query {
  const query = parseQuery(text)
  return server === undefined ? query : { ...query, server: serverName(server), toolTypes: MCP_TYPES }
}

/** Signs alone rank nothing. Who sends them sees what an empty query shows, and why; `*` means just that. */
function withoutWords({ words }: Query, text: string): readonly string[] {
  const said = spokenIn(text)
  if (words.length > 0 || said === '' || said === '*') return []
  return [`"${cutText(said, 40)}" holds no word to search for: it counts as an empty query`]
}

const NOTHING_NEW = { hasMore: false, warnings: [] }

/** Whose search it is: of one server, of servers, or of anything. */
function aboutServers(
  { query: text, source }: Arguments<'search'>,
  { server, spaces }: Query,
): { readonly only: string | null; readonly isAboutServers: boolean } {
  const isAboutServers =
    server !== null || /(?:^|\s)mcp:\S/.test(text) || source === 'mcp' || spaces?.[0] === 'mcp'
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

/** A type of tool, or the language of a script, as `type:` reads it. */
function kindOf({ tool_type: type }: Arguments<'search'>): Query {
  return parseQuery(type === undefined ? '' : `type:${type}`)
}

function toolTypesOf(args: Arguments<'search'>, asked: readonly ToolType[]): readonly ToolType[] {
  const { item_type, source, tool_type: type } = args
  if (type !== undefined) return kindOf(args).toolTypes
  if (item_type === 'script') return ['script']
  return source === 'mcp' ? MCP_TYPES : asked
}

/** Every item is a tool of some type: whoever looks among tools for `type:directive` means directives. */
function itemTypesOf(
  { item_type }: Arguments<'search'>,
  toolTypes: readonly ToolType[],
): readonly ItemType[] {
  if (item_type === undefined || item_type === 'all') return ITEM_TYPES
  const type = readItemType(item_type)
  const named = toolTypes.map(itemTypeOf)
  return type === 'tool' && named.length > 0 && !named.includes('tool') ? named : [type]
}

/** What is called like a tool of a server and is none is not shown: the tool of the server is, if there is one. */
async function foundItem(hit: SearchHit, lookup: Lookup, usurpers: string[]): Promise<FoundItem | null> {
  const found = await itemOf(hit, hit.item_id, lookup).catch(() => null)
  const refusal = found === null ? null : await lookup.foreignName(found.item, 'use').catch(() => null)
  if (refusal === null) {
    const item = found === null ? null : await withInputs(found.item, lookup)
    return { hit, id: found?.id ?? hit.item_id, item }
  }
  usurpers.push(refusal.message)
  const meant = await lookup.find(parseItemRef(hit.item_id), 'tool', 'mcp').catch(() => null)
  if (meant === null) return null
  const { description, version } = meant.manifest
  const listed = { tool_type: 'mcp_tool', space: 'mcp', path: null, item_id: meant.id } as const
  return foundItem({ ...hit, ...listed, name: meant.id, description, version }, lookup, usurpers)
}

/** An id that several files of a space have is called by its category as well. */
export async function itemOf(
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
    return itemOf(hit, full, lookup)
  }
}

function candidateAt(path: string | null, { details }: KiwiError): string | undefined {
  const { data = [] } = Candidates.safeParse(details['candidates'])
  return data.find((candidate) => candidate.path === path)?.id
}

const Candidates = z.array(z.object({ id: z.string(), path: z.string() }))

/** An agent reads it with every search: a few in full, more by their names. */
function faultWarnings(faults: readonly Fault[], isPerson: boolean): readonly string[] {
  if (isPerson) return allFaults(faults)
  if (faults.length <= MOST_REASONS) return faults.map(({ reason }) => cutText(reason, MOST_REASON))
  const names = faults.slice(0, MOST_FAULTS).map(({ path }) => cutText(basename(path), MOST_NAME))
  const more = faults.length > names.length ? ' and others' : ''
  return [`${faults.length} files cannot be read: ${names.join(', ')}${more}; load says why`]
}

const MOST_REASONS = 2
const MOST_REASON = 300
const MOST_NAME = 40

function allFaults(faults: readonly Fault[]): readonly string[] {
  const shown = faults.slice(0, MOST_FAULTS).map(({ reason }) => reason)
  return faults.length > MOST_FAULTS
    ? [...shown, `${faults.length - MOST_FAULTS} more files cannot be read`]
    : shown
}
