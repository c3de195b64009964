import type { ErrorCode } from '../shared/errors.ts'
import { ERRORS, KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import { ItemName, parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readyCall } from '../spaces/ready-call.ts'
import type { SearchQuery } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import { parseQuery } from '../search/parse-query.ts'
import { isTelling } from '../search/telling.ts'
import type { Arguments } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { findItem } from './find-item.ts'
import type { Topic } from './rank-topics.ts'
import { rankTopics } from './rank-topics.ts'

/** Each topic is a piece of knowledge shipped in this category as `kiwi-<topic>`. */
const CATEGORY = 'help'
const PREFIX = 'kiwi-'

/** Guidance from the shipped knowledge, from the table of errors, or about one item. */
export async function help(
  args: Arguments<'help'>,
  call: MetaCall,
): Promise<{ readonly data: JsonObject; readonly warnings: readonly string[] }> {
  return { data: await guidance(args, call), warnings: [] }
}

async function guidance(args: Arguments<'help'>, call: MetaCall): Promise<JsonObject> {
  const lookup = await call.lookupAt(args.project_path)
  if (args.error_code !== undefined) return aboutError(args.error_code, lookup, call)
  if (args.item_id !== undefined) return aboutItem(args.item_id, lookup)
  return aboutTopic(args.topic ?? 'overview', lookup, call)
}

async function aboutError(given: string, lookup: Lookup, { store }: MetaCall): Promise<JsonObject> {
  const wanted = given.toUpperCase()
  const codes = Object.keys(ERRORS)
  const code = codes.find((known): known is ErrorCode => known === wanted)
  if (code === undefined) {
    throw new KiwiError('NOT_FOUND', `Cannot explain "${given.slice(0, 64)}": there is no such error code`, {
      hint: `Known codes: ${codes.join(', ')}`,
      details: { codes },
    })
  }
  const { means, hint, retryable } = ERRORS[code]
  const topics = await readTopics(await topicNames(store), lookup)
  const about = topics.filter(({ text }) => text.includes(`\`${code}\``)).map(({ name }) => name)
  return {
    error_code: code,
    text: `${code}: ${means}. ${hint}.`,
    means,
    hint,
    retryable,
    ...(about.length === 0 ? {} : { see_also: about }),
  }
}

async function aboutItem(itemId: string, lookup: Lookup): Promise<JsonObject> {
  const ref = parseItemRef(itemId)
  // A server goes by its own name where no tool has it.
  const server = (await lookup.find(ref, 'tool')) === null ? await lookup.find(ref, 'mcp') : null
  const item = await withInputs(server ?? (await findItem(lookup, ref, 'tool')), lookup)
  const { manifest } = item
  if (manifest.tool_type === 'mcp_server') return aboutServer(item)
  const call = readyCall(manifest)
  const how =
    call === null
      ? `Type ${manifest.tool_type} is not run by itself; load shows it whole`
      : `Send this to execute, with the values filled in: ${JSON.stringify(call)}`
  return {
    item_id: item.id,
    item_type: itemTypeOf(manifest.tool_type),
    text: `${manifest.description}\n${how}`,
    parameters: inputSchema(manifest),
    call,
  }
}

function aboutServer({ id, manifest }: Item): JsonObject {
  const name = serverName(id)
  const load = { item_type: 'mcp', item_id: name }
  const how = `Its tools are run by execute as "${name}.<tool>". Send this to load, to see them: ${JSON.stringify(load)}`
  return { item_id: id, item_type: 'mcp', text: `${manifest.description}\n${how}`, call: null, load }
}

/** A topic by its name, else the one that a question in words is about. */
async function aboutTopic(asked: string, lookup: Lookup, call: MetaCall): Promise<JsonObject> {
  const { store } = call
  const topics = await topicNames(store)
  const name = asked.trim().toLowerCase()
  if (topics.includes(name)) return showTopic(name, topics, lookup, call)
  const code = asked.match(/\b[A-Z][A-Z_]{3,}\b/g)?.find((word) => word in ERRORS)
  if (code !== undefined) return aboutError(code, lookup, call)
  const ranked = rankTopics(asked, await readTopics(topics, lookup))
  const [best, ...others] = ranked.length > 0 ? ranked : await nearlyAsked(asked, call)
  // What it is asked with may as well be the step that a tool is looked for.
  const search = { call: 'search', arguments: { query: asked.slice(0, 256) } } as const
  if (best === undefined) {
    throw new KiwiError('NOT_FOUND', `Cannot explain "${asked.slice(0, 64)}": there is no such topic`, {
      hint: `Topics: ${topics.join(', ')}; or give error_code or item_id`,
      fix: search,
      details: { topics },
    })
  }
  return { ...(await showTopic(best, topics, lookup, call)), see_also: others.slice(0, MOST_OTHERS), search }
}

const MOST_OTHERS = 3

/** What the words of a question find with a letter amiss. A question that holds nothing else is about all of it. */
async function nearlyAsked(asked: string, { store, wordTable }: MetaCall): Promise<readonly string[]> {
  const said = asked.toLowerCase().match(/\p{L}+/gu) ?? []
  if (said.length > 0 && !said.some(isTelling)) return ['overview']
  const { words } = parseQuery(asked)
  if (words.length === 0) return []
  const spelt = (await wordTable()).spelt(words)
  return topicsIn(await itemIds({ ...OF_HELP, words, spelt, sortBy: 'score' }, store))
}

async function showTopic(
  topic: string,
  topics: readonly string[],
  lookup: Lookup,
  { store }: MetaCall,
): Promise<JsonObject> {
  const { text } = await readTopic(topic, lookup)
  if (topic !== 'overview') return { topic, text, topics }
  const { places } = await lookup.syncIndex()
  const items = await store.count(places)
  const servers = await itemIds({ spaces: SPACES, roots: places, itemTypes: ['mcp'] }, store)
  return { topic, text: `${text}\n\nTopics: ${topics.join(', ')}.`, topics, items, servers }
}

function readTopics(names: readonly string[], lookup: Lookup): Promise<readonly Topic[]> {
  return Promise.all(names.map((name) => readTopic(name, lookup)))
}

async function readTopic(name: string, lookup: Lookup): Promise<Topic> {
  const ref = { name: ItemName.parse(`${PREFIX}${name}`), category: null, version: null }
  const item = await lookup.find(ref, 'knowledge', 'builtin')
  const [content] = (await item?.files()) ?? []
  const text = content === undefined ? '' : Buffer.from(content.content).toString('utf8').trim()
  const { description = '', tags = [] } = item?.manifest ?? {}
  return { name, head: [name, description, ...tags].join(' '), text }
}

async function topicNames(store: MetaCall['store']): Promise<readonly string[]> {
  return topicsIn(await itemIds(OF_HELP, store)).toSorted()
}

const OF_HELP = { spaces: ['builtin'], itemTypes: ['knowledge'], category: CATEGORY } as const

function topicsIn(ids: readonly string[]): readonly string[] {
  return ids.filter((id) => id.startsWith(PREFIX)).map((id) => id.slice(PREFIX.length))
}

const MOST = 50

async function itemIds(query: Partial<SearchQuery>, store: MetaCall['store']): Promise<readonly string[]> {
  const { hits } = await store.search({
    words: [],
    spaces: [],
    roots: [],
    itemTypes: [],
    toolTypes: [],
    category: null,
    tags: [],
    server: null,
    sortBy: 'name',
    limit: MOST,
    ...query,
  })
  return hits.map(({ item_id }) => item_id)
}
