import type { KiwiError } from '../shared/errors.ts'
import { messageOf } from '../shared/errors.ts'
import { plainName, serverName } from '../shared/groups.ts'
import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { IndexEntry, IndexedSpace, SpaceName, Store } from '../store/store.ts'
import { SPACES } from '../store/store.ts'
import { toIndexEntry, toRepair } from './describe.ts'
import type { Fault, FileSpace } from './file-space.ts'
import { findAmong } from './find-among.ts'
import { createServers } from './find-servers.ts'
import { foreignName } from './foreign-name.ts'
import type { Freshness } from './freshness.ts'
import { openFreshness } from './freshness.ts'
import type { Item } from './item.ts'
import type { Listed, Server } from './listed.ts'
import { openListed } from './listed.ts'
import type { Shelf } from './shelf.ts'
import { prefetch } from './shelf.ts'
import type { Indexed } from './sync-listed.ts'
import { syncListed } from './sync-listed.ts'

/** All spaces as one project sees them, in the one order of finding: project, user, builtin, registry. */
export interface Lookup extends Freshness {
  readonly projectPath: string | null
  readonly spaces: readonly FileSpace[]
  isCurrent(item: Item): boolean
  /**
   * The item an id means here, or null. `source` looks in one space only. Whatever has an id is a tool, so when no
   * space has a tool in the narrow sense, an item of another type is one too. Without a source, what is called like a
   * tool of a server and is none of it is refused.
   */
  find(ref: ItemRef, itemType: ItemType, source?: SpaceName): Promise<Item | null>
  /** What has this id already where an item of this type would be written: documents have names of their own. */
  standing(name: ItemName, itemType: ItemType, source: SpaceName): Promise<Item | null>
  /**
   * The tool an item is run by, or null: from the item's own space or one below it, so that what a project brings
   * along never gets under a tool that is not the project's.
   */
  executorOf(item: Item): Promise<Item | null>
  /** The directive that a directive extends, or null: by the same rule. */
  baseOf(item: Item, ref: ItemRef): Promise<Item | null>
  /** The file whose name the id is and that cannot be read, in the first space that has one. */
  broken(ref: ItemRef, itemType: ItemType, source?: SpaceName): Promise<Broken | null>
  /** The published versions of an id, highest first. */
  versions(name: ItemName): Promise<readonly string[]>
  /** Brings these ids and their executors from the store into memory, in one query. */
  prefetch(names: readonly string[]): Promise<void>
  /** Looks at the files and makes the search index equal to them and to what servers list. */
  syncIndex(): Promise<Indexed>
  readonly roots: readonly IndexedSpace[]
  /** Why an item cannot have the id it has; null when it can. */
  foreignName(item: Item, action: string): Promise<KiwiError | null>
  /** Every server that is switched on and not shipped, as far as the index knows. */
  servers(): Promise<readonly Server[]>
  /** The server that a name, or the one in front of its first dot, stands for. */
  readonly serverFor: Listed['serverFor']
  readonly serverOf: Listed['serverOf']
  /** When and how a server was last asked what it has, by the key of it; null when it never was. */
  readonly listing: Listed['listing']
  /** What agents call the tools of a server. */
  readonly toolNames: Listed['toolNames']
  readonly toolFault: Listed['toolFault']
}

interface Broken {
  readonly path: string
  readonly reason: string
  readonly space: FileSpace['space']
}

export function openLookup(projectPath: string | null, spaces: readonly FileSpace[], shelf: Shelf): Lookup {
  const freshness = openFreshness(spaces, shelf)
  const roots = spaces.map(({ space, root }) => ({ space, root }))
  const among = (
    refs: readonly ItemRef[],
    itemTypes: readonly ItemType[],
    source?: SpaceName,
  ): Promise<Item | null> => findAmong(spaces, shelf, { refs, itemTypes, source })
  const from = (own: SpaceName): readonly FileSpace[] =>
    spaces.filter(({ space }) => SPACES.indexOf(space) >= SPACES.indexOf(own))
  const listed = openListed(shelf, {
    findServer: (name) => among(spellings({ name, category: null, version: null }, 'mcp'), ['mcp']),
    findFile: (name) => among([{ name, category: null, version: null }], ['tool']),
    generation: () => freshness.generation,
  })
  /** The names of skills have hyphens; who writes `_` for them means the same. */
  const skillOf = async (ref: ItemRef, itemType: ItemType, source?: SpaceName): Promise<Item | null> => {
    const name = ItemName.safeParse(ref.name.replaceAll('_', '-'))
    if (!name.success || name.data === ref.name || !['tool', 'directive'].includes(itemType)) return null
    const found = await among([{ ...ref, name: name.data }], ['directive'], source)
    return found?.raw['_file'] === 'SKILL.md' ? found : null
  }
  const foreign = (item: Item, action: string): Promise<KiwiError | null> =>
    foreignName(item, action, (name) => listed.serverFor(name))
  const sync = createSync(spaces, shelf)
  /** The generation that the index was made equal to. */
  let indexedAt = -1
  const state = (): string => `${freshness.generation} ${indexedAt}`
  const servers = createServers({ roots, shelf, listed, state })

  return {
    ...listed,
    projectPath,
    spaces,
    roots,
    foreignName: foreign,
    servers,
    get generation() {
      return freshness.generation
    },
    begin: () => freshness.begin(),
    freshen: (now) => freshness.freshen(now),
    isCurrent: (item) => spaces.find(({ space }) => space === item.space)?.isCurrent(item) ?? true,
    async find(ref, itemType, source) {
      const itemTypes = itemType === 'tool' ? TOOL_IN_THE_WIDE_SENSE : [itemType]
      const item =
        (await among(spellings(ref, itemType), itemTypes, source)) ?? (await skillOf(ref, itemType, source))
      if (itemType !== 'tool') return item
      const refusal = item === null || source !== undefined ? null : await foreign(item, 'use')
      if (refusal !== null) throw refusal
      if (item !== null) return item
      const other = await otherName(ref, (name) => among([{ ...ref, name, version: null }], ['mcp']))
      const found = other === null ? null : await among([other], itemTypes, source)
      if (found !== null) return found
      return source === undefined || source === 'mcp' ? listed.find(ref, source === 'mcp') : null
    },
    standing: (name, itemType, source) => findAmong(spaces, shelf, standingAt(name, itemType, source)),
    async executorOf({ manifest: { executor }, space: own }) {
      if (executor === null) return null
      const refs = [{ name: executor, category: null, version: null }]
      // What a server lists stands on that server, wherever it lies.
      if (own === 'mcp') return among(refs, ['mcp'])
      return findAmong(from(own), shelf, { refs, itemTypes: TOOL_IN_THE_WIDE_SENSE })
    },
    baseOf: ({ space }, ref) => findAmong(from(space), shelf, { refs: [ref], itemTypes: ['directive'] }),
    broken: (ref, itemType, source) => findBroken(spaces, ref, itemType, source),
    versions: async (name) => (await shelf.store.registry.versions(name)).map(({ version }) => version),
    prefetch: (names) => prefetch(shelf, names),
    // A space that was never looked at would seem empty, and the index would be emptied with it.
    async syncIndex() {
      for (const space of spaces) await space.catchUp()
      freshness.freshen()
      const { generation } = freshness
      const faults = await sync()
      indexedAt = generation
      const upstreams = await syncListed(await servers(), shelf.store)
      return { faults: [...faults, ...upstreams.faults], places: [...roots, ...upstreams.places] }
    },
  }
}

function standingAt(name: ItemName, itemType: ItemType, source: SpaceName): Parameters<typeof findAmong>[2] {
  const itemTypes = itemType === 'knowledge' ? [itemType] : NOT_DOCUMENTS
  return { refs: [{ name, category: null, version: null }], itemTypes, source }
}

async function findBroken(
  spaces: readonly FileSpace[],
  ref: ItemRef,
  itemType: ItemType,
  source?: SpaceName,
): Promise<Broken | null> {
  const among = spaces.filter(({ space }) => source === undefined || space === source)
  for (const named of spellings(ref, itemType)) {
    for (const space of among) {
      const path = space.pathOf(named, itemType)
      const [fault] = path === null ? [] : (await space.read([path])).faults
      if (fault !== undefined) return { path: fault.path, reason: fault.reason, space: space.space }
    }
  }
  return null
}

/** A server is `mcp_name`; `name` and `name_mcp` mean the same one. What is called exactly so comes first. */
function spellings(ref: ItemRef, itemType: ItemType): readonly ItemRef[] {
  if (itemType !== 'mcp') return [ref]
  const name = plainName(ref.name)
  const names = new Set([ref.name, ...[`mcp_${name}`, serverName(ref.name), `${name}_mcp`].flatMap(asName)])
  return Array.from(names, (spelled) => ({ ...ref, name: spelled }))
}

function asName(text: string): readonly ItemName[] {
  const name = ItemName.safeParse(text)
  return name.success ? [name.data] : []
}

/** A server may say what others call its tools: `filesystem.read_file` is `filesystem.read`. */
async function otherName(
  ref: ItemRef,
  findServer: (name: ItemName) => Promise<Item | null>,
): Promise<ItemRef | null> {
  const dot = ref.name.indexOf('.')
  const server = ItemName.safeParse(ref.name.slice(0, Math.max(0, dot)))
  const found = server.success ? await findServer(server.data) : null
  const aliases = found?.manifest.config['aliases']
  const tool = isJsonObject(aliases) ? aliases[ref.name.slice(dot + 1)] : undefined
  const name = ItemName.safeParse(`${found?.id}.${textOf(tool)}`)
  return name.success && typeof tool === 'string' ? { ...ref, name: name.data } : null
}

/** In the order in which they are meant. */
const TOOL_IN_THE_WIDE_SENSE: readonly ItemType[] = ['tool', 'directive', 'mcp', 'knowledge']
const NOT_DOCUMENTS: readonly ItemType[] = ['tool', 'directive', 'mcp']

/** A space that did not change since it was last looked at is not looked at again. */
function createSync(spaces: readonly FileSpace[], shelf: Shelf): () => Promise<readonly Fault[]> {
  const synced = new Map<FileSpace, { generation: number; faults: readonly Fault[] }>()
  return async () => {
    const faults: Fault[] = []
    for (const space of spaces) {
      const { generation } = space
      const before = synced.get(space)
      const now =
        before?.generation === generation ? before : { generation, faults: await syncSpace(space, shelf) }
      // What could not be written is tried again the next time.
      if (now.faults.every(({ path }) => path !== space.root)) synced.set(space, now)
      faults.push(...now.faults)
    }
    return faults
  }
}

/** A broken file is found by its name and its text, and looked at again until it is repaired. */
const UNREAD = 'unread '

/** Reads only what the index does not know as it is now. */
async function syncSpace(space: FileSpace, { store, reserved }: Shelf): Promise<readonly Fault[]> {
  const place: IndexedSpace = { space: space.space, root: space.root }
  const stamps = space.stamps()
  const known = await store.index.known(place)
  const changed = [...stamps].filter(([path, stamp]) => known.get(path) !== stamp).map(([path]) => path)
  const { items, faults } = await space.read(changed)
  const taken = await reserved()
  const readable = await Promise.all(
    items
      .filter((item) => !taken.has(item.id))
      .map((item) => toIndexEntry(item, item.path ?? '', stamps.get(item.path ?? '') ?? '')),
  )
  const broken = faults.flatMap(({ entry, reason }) =>
    entry === undefined || taken.has(entry.stem) ? [] : [toRepair(entry, reason, UNREAD + entry.stamp)],
  )
  const found = [...readable, ...broken]
  const put = found.filter(({ path, stamp }) => known.get(path) !== stamp)
  const indexed = new Set(found.map(({ path }) => path))
  const failed = new Set(changed.filter((path) => !indexed.has(path)))
  const drop = [...known.keys()].filter((path) => !stamps.has(path) || failed.has(path))
  const unwritten = put.length > 0 || drop.length > 0 ? await update(store, place, put, drop) : []
  const reservedFaults = items
    .filter((item) => taken.has(item.id))
    .map((item) => ({
      path: item.path ?? '',
      reason: `the id "${item.id}" belongs to a tool that is shipped with Kiwi`,
    }))
  const told = faults.map(({ path, reason }) => ({ path, reason }))
  return [...unwritten, ...space.faults(), ...told, ...reservedFaults]
}

/** An index that cannot be written still finds what it holds: a fault of the whole space, and no end of the search. */
async function update(
  { index }: Store,
  place: IndexedSpace,
  put: readonly IndexEntry[],
  drop: readonly string[],
): Promise<readonly Fault[]> {
  try {
    await index.update(place, put, drop)
    return []
  } catch (error) {
    return [{ path: place.root, reason: `What is new in "${place.root}" is not found: ${messageOf(error)}` }]
  }
}
