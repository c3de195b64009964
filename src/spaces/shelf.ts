import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Listing } from '../store/catalog.ts'
import type { Store, StoredVersion } from '../store/store.ts'
import type { Item } from './item.ts'
import { readManifest } from './manifest.ts'

/** Names that are kept of the store, those that lead nowhere too: a caller can make up endlessly many. */
export const MOST_SHELVED = 10_000

/** What all projects of one process share: the store's rows as items, and the ids nobody may take. */
export interface Shelf {
  readonly store: Store
  readonly reserved: () => Promise<ReadonlySet<string>>
  /** Whether a person, or a publisher they accept, stands behind a server. */
  readonly isVouched: (server: Item) => Promise<boolean>
  readonly items: Map<string, Item | null>
  /** What upstreams list, by what it is kept under. */
  readonly listings: Map<string, Listing | null>
  readonly listed: Map<string, Item | null>
  /** Empties the shelf when the registry changed, and says how often it did; a patient one has just looked. */
  readonly freshen: (isPatient?: boolean) => number
}

/** Brings these ids and their executors from the store onto the shelf, in one query. */
export async function prefetch(shelf: Shelf, names: readonly string[]): Promise<void> {
  const { store, items } = shelf
  shelf.freshen(true)
  if (names.every((name) => items.has(name))) return
  const before = shelf.freshen()
  const missing = names.filter((name) => !items.has(name))
  const nodes = await store.registry.nodes(missing)
  // Rows read while the registry changed are not kept: they may be older than the shelf they would be put on.
  if (shelf.freshen() !== before) return prefetch(shelf, names)
  for (const [name, node] of nodes) items.set(name, storedItem(node, store))
  for (const name of missing) if (!nodes.has(name)) items.set(name, null)
  for (const oldest of items.keys()) {
    if (items.size <= MOST_SHELVED) break
    items.delete(oldest)
  }
}

/** What is kept, or read and kept then, unless the store changed meanwhile. */
export function shelve<T>(shelf: Shelf, kept: Map<string, T>, key: string, read: () => Promise<T>): Maybe<T> {
  shelf.freshen(true)
  const known = kept.get(key)
  return known === undefined ? readAndShelve(shelf, kept, key, read) : known
}

async function readAndShelve<T>(
  shelf: Shelf,
  kept: Map<string, T>,
  key: string,
  read: () => Promise<T>,
): Promise<T> {
  const before = shelf.freshen()
  const made = await read()
  if (shelf.freshen() !== before) return made
  if (kept.size >= MOST_SHELVED) kept.clear()
  kept.set(key, made)
  return made
}

/** What an id means in the store, or null. */
export async function findShelved(shelf: Shelf, { name, version }: ItemRef): Promise<Item | null> {
  const { store, items } = shelf
  if (version !== null) {
    const stored = await store.registry.version(name, version)
    return stored === null ? null : storedItem(stored, store)
  }
  await prefetch(shelf, [name])
  return items.get(name) ?? null
}

function storedItem(stored: StoredVersion, store: Store): Item {
  const { manifest, warnings } = readManifest(stored.manifest, {
    stem: stored.tool_id,
    category: stored.category,
  })
  return {
    id: ItemName.parse(stored.tool_id),
    space: stored.is_official ? 'builtin' : 'registry',
    form: 'row',
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
