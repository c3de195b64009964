import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Listing } from '../store/catalog.ts'
import type { Overrides } from './definitions/overrides.ts'
import { readOverrides } from './definitions/overrides.ts'
import { unusableWhy } from './definitions/shown-definition.ts'
import type { Item } from './item.ts'
import { catalogKey, launchIdentity } from './launch-identity.ts'
import { listedItem } from './listed-item.ts'
import type { Shelf } from './shelf.ts'
import { prefetch, shelve } from './shelf.ts'

/** A server whose tools are those it lists. */
export interface Server {
  readonly item: Item
  /** As people say it. */
  readonly name: string
  /** What its listing is kept under. */
  readonly key: string
  /** How a person wants its tools to be shown. */
  readonly overrides: Overrides
}

/** What upstreams list, as items of one project. */
export interface Listed {
  /** `server.tool`, split at the first dot, or `server_tool`; null when no server lists it. A file of that name comes first, unless only what is listed is meant. */
  find(ref: ItemRef, isListedOnly: boolean): Promise<Item | null>
  /** The server that this name, or the one in front of its first dot, stands for. */
  serverFor(name: string): Maybe<Server | null>
  /** The same for its item; null for one that is shipped, switched off, or whose name could not be told from a tool's. */
  serverOf(item: Item): Promise<Server | null>
  listing(key: string): Maybe<Listing | null>
  /** As agents are shown them. */
  toolNames(server: Server): Promise<readonly string[]>
  /** Why a tool that a server lists cannot be used; null when it can, or is not listed. */
  toolFault(server: Server, tool: string): Promise<string | null>
}

interface ListedMeans {
  readonly findServer: (name: ItemName) => Promise<Item | null>
  readonly findFile: (name: ItemName) => Promise<Item | null>
  /** Of the spaces. */
  readonly generation: () => number
}

export function openListed(shelf: Shelf, { findServer, findFile, generation }: ListedMeans): Listed {
  const { catalog } = shelf.store

  const serverOf: Listed['serverOf'] = async (item) => {
    const { id, manifest } = item
    if (!isListed(item)) return null
    const overrides = readOverrides(id, manifest.config)
    const key = catalogKey(launchIdentity(item), await shelf.isVouched(item))
    return { item, name: serverName(id), key, overrides }
  }

  const serverFor = keptFor(generation, async (spoken): Promise<Server | null> => {
    const name = ItemName.safeParse(spoken)
    const item = name.success ? await findServer(name.data) : null
    return item === null || !isSpoken(spoken, item.id) ? null : serverOf(item)
  })

  const listing = (key: string): Maybe<Listing | null> =>
    shelve(shelf, shelf.listings, key, () => catalog.listing(key))

  const toolOf = async (server: Server, name: string, isListedOnly: boolean): Promise<Item | null> => {
    const id = ItemName.safeParse(`${server.name}.${name}`)
    const file = id.success && !isListedOnly ? await findFile(id.data) : null
    if (file !== null) return file
    return shelve(shelf, shelf.listed, `${server.key} ${server.item.contentHash} ${name}`, async () => {
      const at = (await listing(server.key))?.listed_at
      for (const original of at === undefined ? [] : server.overrides.originals(name)) {
        const tool = await catalog.tool(server.key, original)
        const item = tool === null ? null : listedItem(tool, server, at ?? 0)
        if (item !== null) return item
      }
      return null
    })
  }

  /** `a_b_c` may be `a.b_c` or `a_b.c`: never one of them because it was found first. */
  const alias = async (name: string, isListedOnly: boolean): Promise<Item | null> => {
    const cuts = [...name.matchAll(/_/g)].map(({ index: at }) => at).slice(0, MOST_CUTS)
    const starts = cuts.map((at) => name.slice(0, at)).filter((start) => start !== '')
    await prefetch(shelf, [...starts, ...starts.flatMap((start) => [`mcp_${start}`, `${start}_mcp`])])
    const found = new Map<string, Item>()
    for (const start of starts) {
      const server = await serverFor(start)
      const item = server === null ? null : await toolOf(server, name.slice(start.length + 1), isListedOnly)
      if (item !== null) found.set(item.id, item)
    }
    if (found.size > 1) throw ambiguous(name, [...found.keys()])
    return [...found.values()][0] ?? null
  }

  return {
    serverFor,
    serverOf,
    listing,
    async toolNames({ key, overrides }) {
      const tools = (await catalog.tools(key)).filter(
        ({ state }) => state !== 'missing' && state !== 'unusable',
      )
      const names = new Set(tools.map(({ name }) => name))
      return tools.flatMap(({ raw }) => overrides.show(raw, names)?.name ?? [])
    },
    async toolFault({ key }, name) {
      const tool = await catalog.tool(key, name)
      return tool?.state === 'unusable' ? unusableWhy(tool.findings) : null
    },
    async find({ name, version }, isListedOnly) {
      if (version !== null) return null
      const dot = name.indexOf('.')
      if (dot < 0) return name.includes('_') ? alias(name, isListedOnly) : null
      const server = await serverFor(name)
      if (server !== null) return toolOf(server, name.slice(dot + 1), isListedOnly)
      return name.lastIndexOf('_', dot) > 0 ? alias(name, isListedOnly) : null
    },
  }
}

/** By what stands in front of the first dot, answered once for each state of the spaces; what could not be is asked again. */
function keptFor<T>(state: () => number, ask: (spoken: string) => Promise<T>): (name: string) => Maybe<T> {
  let kept = new Map<string, Maybe<T>>()
  let at = -1
  return (name) => {
    if (at !== state() || kept.size >= MOST_NAMES) kept = new Map()
    at = state()
    const [spoken = name] = name.split('.', 1)
    const known = kept.get(spoken)
    if (known !== undefined) return known
    const asked = ask(spoken)
    const among = kept
    among.set(spoken, asked)
    asked.then(
      (found) => among.set(spoken, found),
      () => among.delete(spoken),
    )
    return asked
  }
}

const MOST_NAMES = 1000

/** Underscores of a name at which a server may end. */
const MOST_CUTS = 16

/** Nobody lists what is shipped, switched off, or has a name that could not be told from a tool's. */
function isListed({ id, space, manifest }: Item): boolean {
  if (manifest.tool_type !== 'mcp_server' || space === 'builtin') return false
  return manifest.enabled !== false && !id.includes('.')
}

/** `mcp_shell` is never meant by `shell`, which is ours. */
function isSpoken(spoken: string, id: string): boolean {
  return id === spoken || serverName(id) === serverName(spoken)
}

function ambiguous(name: string, ids: readonly string[]): KiwiError {
  return new KiwiError(
    'AMBIGUOUS_ID',
    `Cannot tell what "${name}" means: ${ids.join(' and ')} are called so`,
    {
      hint: 'Write server.tool',
      details: { candidates: ids.map((id) => ({ id })) },
    },
  )
}
