import { satisfies } from 'semver'
import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { IndexedSpace, SpaceName, Store, StoredVersion } from '../store/store.ts'
import { toIndexEntry } from './describe.ts'
import type { Fault, FileSpace } from './file-space.ts'
import type { Item } from './item.ts'
import { readManifest } from './manifest.ts'

/** All spaces as one project sees them, in the one order of finding: project, user, builtin, registry. */
export interface Lookup {
  readonly projectPath: string | null
  readonly spaces: readonly FileSpace[]
  /** Grows when anything an id could lead to has changed. */
  readonly generation: number
  /** Takes notice of what changed on disk (at most once a second unless `now`) and in the store. */
  freshen(now?: boolean): void
  isCurrent(item: Item): boolean
  /** The item an id means here, or null. `source` looks in one space only. */
  find(ref: ItemRef, itemType: ItemType, source?: SpaceName): Promise<Item | null>
  /** Brings these ids and their executors from the store into memory, in one query. */
  prefetch(names: readonly string[]): Promise<void>
  /** Makes the search index equal to the files. Returns what could not be read. */
  syncIndex(): Promise<readonly Fault[]>
  readonly roots: readonly IndexedSpace[]
}

/** What all projects of one process share: the store's rows as items, and the ids nobody may take. */
export interface Shelf {
  readonly store: Store
  readonly reserved: () => Promise<ReadonlySet<string>>
  readonly items: Map<string, Item | null>
  /** Empties the shelf when the registry changed, and says how often it did; a patient one has just looked. */
  readonly freshen: (isPatient?: boolean) => number
}

export function openLookup(projectPath: string | null, spaces: readonly FileSpace[], shelf: Shelf): Lookup {
  const { store } = shelf
  let seen = ''
  let generation = 0

  /** Rows read while the registry changed are not kept: they may be older than the shelf they would be put on. */
  const prefetch = async (names: readonly string[]): Promise<void> => {
    const before = shelf.freshen()
    const missing = names.filter((name) => !shelf.items.has(name))
    if (missing.length === 0) return
    const nodes = await store.registry.nodes(missing)
    if (shelf.freshen() !== before) return prefetch(names)
    for (const [name, node] of nodes) shelf.items.set(name, storedItem(node, store))
    for (const name of missing) if (!nodes.has(name)) shelf.items.set(name, null)
  }

  const findStored = async (ref: ItemRef): Promise<Item | null> => {
    if (ref.version !== null) {
      const version = await store.registry.version(ref.name, ref.version)
      return version === null ? null : storedItem(version, store)
    }
    await prefetch([ref.name])
    return shelf.items.get(ref.name) ?? null
  }

  const findIn = async (space: FileSpace, ref: ItemRef, itemType: ItemType): Promise<Item | null> => {
    const reserved = await shelf.reserved()
    if (reserved.has(ref.name)) return null
    const item = await space.find(ref, itemType)
    // A file may be named otherwise than the id it declares.
    if (item === null || reserved.has(item.id) || !isOfType(item, itemType)) return null
    return ref.version === null || satisfies(item.manifest.version, ref.version) ? item : null
  }

  return {
    projectPath,
    spaces,
    roots: spaces.map(({ space, root }) => ({ space, root })),
    get generation() {
      return generation
    },
    freshen(now) {
      for (const space of spaces) space.freshen(now)
      const state = `${spaces.map((space) => space.generation).join()};${shelf.freshen(now !== true)}`
      if (state === seen) return
      seen = state
      generation += 1
    },
    isCurrent(item) {
      const space = spaces.find((candidate) => candidate.space === item.space)
      return space === undefined || space.isCurrent(item)
    },
    async find(ref, itemType, source) {
      for (const named of spellings(ref, itemType)) {
        for (const space of spaces) {
          if (source !== undefined && source !== space.space) continue
          const item = await findIn(space, named, itemType)
          if (item !== null) return item
        }
        const stored = await findStored(named)
        const isMeant =
          stored !== null &&
          isOfType(stored, itemType) &&
          (source === undefined || source === stored.space) &&
          (named.category === null || stored.manifest.category === named.category)
        if (isMeant) return stored
      }
      return null
    },
    prefetch,
    syncIndex: createSync(spaces, shelf),
  }
}

/** A server is `mcp_name`; `name` and `name_mcp` mean the same one. */
function spellings(ref: ItemRef, itemType: ItemType): readonly ItemRef[] {
  if (itemType !== 'mcp' || ref.name.startsWith('mcp_')) return [ref]
  const name = ItemName.safeParse(`mcp_${ref.name.replace(/_mcp$/, '')}`)
  return name.success ? [ref, { ...ref, name: name.data }] : [ref]
}

/** A tool is whatever has an id; the other types are narrower. */
function isOfType(item: Item, itemType: ItemType): boolean {
  return itemType === 'tool' || itemTypeOf(item.manifest.tool_type) === itemType
}

function storedItem(stored: StoredVersion, store: Store): Item {
  const { manifest, warnings } = readManifest(stored.manifest, {
    stem: stored.tool_id,
    category: stored.category,
  })
  return {
    id: ItemName.parse(stored.tool_id),
    space: stored.is_official ? 'builtin' : 'registry',
    path: null,
    manifest,
    raw: stored.manifest,
    text: stored.manifest_yaml,
    contentHash: stored.content_hash,
    warnings,
    isReserved: stored.is_builtin,
    updatedAt: stored.created_at,
    filePaths: stored.file_paths,
    files: () => store.registry.files(stored.tool_id, stored.version),
  }
}

/** A space that did not change since it was last looked at is not looked at again. */
function createSync(spaces: readonly FileSpace[], shelf: Shelf): Lookup['syncIndex'] {
  const synced = new Map<FileSpace, { generation: number; faults: readonly Fault[] }>()
  return async () => {
    const faults: Fault[] = []
    for (const space of spaces) {
      const { generation } = space
      const before = synced.get(space)
      const now =
        before?.generation === generation ? before : { generation, faults: await syncSpace(space, shelf) }
      synced.set(space, now)
      faults.push(...now.faults)
    }
    return faults
  }
}

/** Reads only what the index does not know as it is now; a broken file stays out of it and is reported. */
async function syncSpace(space: FileSpace, { store, reserved }: Shelf): Promise<readonly Fault[]> {
  const place: IndexedSpace = { space: space.space, root: space.root }
  const stamps = space.stamps()
  const known = await store.index.known(place)
  const changed = [...stamps].filter(([path, stamp]) => known.get(path) !== stamp).map(([path]) => path)
  const { items, faults } = await space.read(changed)
  const taken = await reserved()
  const put = await Promise.all(
    items
      .filter((item) => !taken.has(item.id))
      .map((item) => toIndexEntry(item, item.path ?? '', stamps.get(item.path ?? '') ?? '')),
  )
  const indexed = new Set(put.map(({ path }) => path))
  const failed = new Set(changed.filter((path) => !indexed.has(path)))
  const drop = [...known.keys()].filter((path) => !stamps.has(path) || failed.has(path))
  if (put.length > 0 || drop.length > 0) await store.index.update(place, put, drop)
  const reservedFaults = items
    .filter((item) => taken.has(item.id))
    .map((item) => ({
      path: item.path ?? '',
      reason: `the id "${item.id}" belongs to a tool that is shipped with Kiwi`,
    }))
  return [...faults, ...reservedFaults]
}

export function notFound(ref: ItemRef, itemType: ItemType): KiwiError {
  const asked = ref.version === null ? ref.name : `${ref.name}@${ref.version}`
  return new KiwiError('NOT_FOUND', `Cannot find ${itemType} "${asked}"`, {
    hint: 'Search for it: the id may be spelled differently, or it may be in another project',
    fix: { call: 'search', arguments: { query: ref.name.replaceAll(/[_.-]+/g, ' ') } },
    details: { item_type: itemType, item_id: asked },
  })
}
