import { basename } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { fileNamed, pickItem } from './choose-entry.ts'
import { leadsOutTo, mayPass } from './disk.ts'
import type { Item } from './item.ts'
import type { Readings } from './readings.ts'
import { openReadings, unlessPassing } from './readings.ts'
import type { Entry } from './scan.ts'
import { NOT_ITEMS, scan, stampAt, typeFolders } from './scan.ts'
import { openWatch } from './watch.ts'

/** A space of plain files: a project's `.ai` or the user's. */
export interface FileSpace {
  readonly space: 'project' | 'user'
  readonly root: string
  /** Grows whenever a file was seen to have changed. */
  readonly generation: number
  /** Looks at the files again, at most once a second unless `now`. STORE_UNAVAILABLE when they cannot be looked at. */
  freshen(now?: boolean): void
  /** Sees everything that was saved before: by a look, or by what a watch reported. */
  catchUp(): Promise<void>
  /** Whether the files of this item are still what was read. */
  isCurrent(item: Item): boolean
  /** One item, or null. AMBIGUOUS_ID when several fit. A file that cannot be read is an error, not an absence. */
  find(ref: ItemRef, itemType: ItemType): Promise<Item | null>
  /** The file whose name the id is, whether or not it can be read. */
  pathOf(ref: ItemRef, itemType: ItemType): string | null
  /** The readable ones of these items, and what is wrong with the others. */
  read(paths: readonly string[]): Promise<{ items: readonly Item[]; faults: readonly Fault[] }>
  /** Path to stamp of everything that looks like an item. */
  stamps(): ReadonlyMap<string, string>
  /** What was left out when the files were looked at. */
  faults(): readonly Fault[]
  /** Ends the watch; the files are then looked at as without one. */
  close(): void
}

/** Where a file space lies. */
interface Place {
  readonly space: 'project' | 'user'
  readonly root: string
  /** The folder that no link may lead out of; null = the user's own, who may link as they like. */
  readonly within: string | null
  /** Given: the system is asked to report changes, and this is told when it cannot. */
  readonly onWatchFault?: ((reason: string) => void) | undefined
}

/** A file that is no item, and why. */
export interface Fault {
  readonly path: string
  readonly reason: string
  /** Where it was found, when it would be an item if only it could be read. */
  readonly entry?: Entry
}

const FRESH_MS = 1000
/** However quiet a watch is: no system reports everything. */
const WATCHED_MS = 30_000

export function openFileSpace({ space, root, within, onWatchFault }: Place, clock: Clock): FileSpace {
  const names = new Set(typeFolders(root).map((folder) => basename(folder)))
  const watch = onWatchFault === undefined ? null : openWatch(root, names, onWatchFault)
  let faults: readonly Fault[] = []
  let entries: ReadonlyMap<string, Entry> = new Map()
  let byStem: ReadonlyMap<string, readonly Entry[]> = new Map()
  /** Items whose id is not their file's name: known only once everything was read, so read only on a miss. */
  let byDeclaredId: Promise<ReadonlyMap<string, readonly Entry[]>> | null = null
  let lookedAt = -Infinity
  let generation = 0
  const readings = openReadings(space, (path) => entries.get(path))
  const freshen = (now = false): void => {
    const age = clock.monotonic() - lookedAt
    if (!now && (age < FRESH_MS || (watch?.isQuiet === true && age < WATCHED_MS))) return
    const started = clock.monotonic()
    const outside = within === null ? [] : linksOut(root, within)
    const leaveOut = new Set(outside.map(({ path }) => path))
    watch?.begin(typeFolders(root).filter((folder) => !leaveOut.has(folder)))
    const seen = scan(root, NOT_ITEMS, leaveOut, entries)
    lookedAt = started
    if (isSame(entries, seen) && reasonsOf(faults) === reasonsOf(outside)) return
    faults = outside
    entries = seen
    byStem = groupByStem(seen.values())
    byDeclaredId = null
    generation += 1
    readings.keep((path) => seen.has(path))
  }

  return {
    space,
    root,
    get generation() {
      return generation
    },
    freshen,
    async catchUp() {
      if (watch?.isQuiet === true) await watch.reported()
      freshen(watch?.isQuiet !== true)
    },
    isCurrent(item) {
      const entry = item.path === null ? undefined : entries.get(item.path)
      return entry !== undefined && stampAt(entry) === entry.stamp
    },
    async find(ref, itemType) {
      const named = await pickItem(ref, itemType, byStem.get(ref.name) ?? [], readings.itemAt)
      if (named !== null) return named
      byDeclaredId ??= readDeclaredIds(entries, readings.itemAt).catch((error: unknown) => {
        byDeclaredId = null
        throw error
      })
      return pickItem(ref, itemType, (await byDeclaredId).get(ref.name) ?? [], readings.itemAt)
    },
    pathOf: (ref, itemType) => fileNamed(ref, itemType, byStem.get(ref.name) ?? [])?.path ?? null,
    read: (paths) =>
      readAll(
        paths.flatMap((path) => entries.get(path) ?? []),
        readings,
      ),
    stamps: () => new Map([...entries.values()].map(({ path, stamp }) => [path, stamp])),
    faults: () => faults,
    close: () => watch?.close(),
  }
}

/** One that cannot be read does not stand in the way of the others. */
async function readAll(
  entries: readonly Entry[],
  { readAt }: Readings,
): Promise<{ items: readonly Item[]; faults: readonly Fault[] }> {
  const items: Item[] = []
  const faults: Fault[] = []
  for (const entry of entries) {
    try {
      const read = await readAt(entry)
      if ('id' in read) items.push(read)
      else if (read.skipped !== null) faults.push({ path: entry.path, reason: read.skipped })
    } catch (error) {
      if (mayPass(error)) throw error
      faults.push({ path: entry.path, reason: messageOf(error), entry })
    }
  }
  return { items, faults }
}

/** The type folders that a link leads out of `within`: what a project brings along must not show what lies beside it. */
function linksOut(root: string, within: string): readonly Fault[] {
  return typeFolders(root).flatMap((path) => {
    const real = leadsOutTo(path, within)
    return real === null
      ? []
      : [{ path, reason: `Cannot use "${path}": a link leads out of the project to "${real}"` }]
  })
}

function reasonsOf(faults: readonly Fault[]): string {
  return faults.map(({ reason }) => reason).join('\n')
}

function groupByStem(entries: Iterable<Entry>): ReadonlyMap<string, readonly Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(entry.stem)
    if (group === undefined) groups.set(entry.stem, [entry])
    else group.push(entry)
  }
  return groups
}

async function readDeclaredIds(
  entries: ReadonlyMap<string, Entry>,
  itemAt: (entry: Entry) => Promise<Item | null>,
): Promise<ReadonlyMap<string, readonly Entry[]>> {
  const declared = new Map<string, Entry[]>()
  for (const entry of entries.values()) {
    // A script has no other name than that of its file.
    if (entry.kind === 'script') continue
    const item = await itemAt(entry).catch(unlessPassing)
    if (item === null || item.id === entry.stem) continue
    declared.set(item.id, [...(declared.get(item.id) ?? []), entry])
  }
  return declared
}

function isSame(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): boolean {
  if (before.size !== after.size) return false
  for (const [path, entry] of after) {
    const known = before.get(path)
    if (known !== entry && known?.stamp !== entry.stamp) return false
  }
  return true
}
