import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import { openTurns } from '../shared/take-turns.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { fileNamed, pickItem } from './choose-entry.ts'
import { mayPass } from './disk.ts'
import type { Item } from './item.ts'
import type { LookedAt } from './look.ts'
import { openLook } from './look.ts'
import type { Learn } from './read-servers.ts'
import { ChangedMeanwhile } from './read-steadily.ts'
import type { Readings } from './readings.ts'
import { openReadings, unlessPassing } from './readings.ts'
import type { Entry } from './scan.ts'
import { stampAt } from './scan.ts'
import type { ServerRegistry } from './server-registry.ts'
import { openServerRegistry } from './server-registry.ts'

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
  /** Reads where servers are named, so that the credentials that stand there are known before anything is said. */
  learn(): Maybe<void>
  /** Whether the files of this item are still what was read. */
  isCurrent(item: Item): boolean
  /** One item, or null. AMBIGUOUS_ID when several fit. A file that cannot be read is an error, not an absence. */
  find(ref: ItemRef, itemType: ItemType): Promise<Item | null>
  /** The server that the list of the space names so, also where a file stands before it. */
  entry(ref: ItemRef): Promise<Item | null>
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
interface Place extends LookedAt {
  readonly space: 'project' | 'user'
  /** The servers that a file of the space lists; left out, nothing of other spaces is inherited. */
  readonly servers?: ServerRegistry
  readonly learn?: Learn
  readonly log?: Log | undefined
}

/** A file that is no item, and why. */
export interface Fault {
  readonly path: string
  readonly reason: string
  /** Where it was found, when it would be an item if only it could be read. */
  readonly entry?: Entry
}

/** Looks that are made at something that changes under our eyes. */
const MOST_TRIES = 10

export function openFileSpace(place: Place, clock: Clock): FileSpace {
  const { space, root } = place
  const { servers = openServerRegistry({ ...place, below: null, shipped: async () => null }) } = place
  let byStem: ReadonlyMap<string, readonly Entry[]> = new Map()
  /** Items whose id is not their file's name: known only once everything was read, so read only on a miss. */
  let byDeclaredId: Promise<ReadonlyMap<string, readonly Entry[]>> | null = null
  const look = openLook(place, clock, (entries) => {
    byStem = groupByStem(entries.values())
    byDeclaredId = null
    readings.keep((path) => entries.has(path))
  })
  const readings = openReadings(space, (path) => look.entries.get(path), place)

  const findNow = async (ref: ItemRef, itemType: ItemType): Promise<Item | null> => {
    const named = await pickItem(ref, itemType, byStem.get(ref.name) ?? [], readings.itemAt)
    if (named !== null) return named
    byDeclaredId ??= readDeclaredIds(look.entries, readings.itemAt).catch((error: unknown) => {
      byDeclaredId = null
      throw error
    })
    return pickItem(ref, itemType, (await byDeclaredId).get(ref.name) ?? [], readings.itemAt)
  }

  const entryOf: FileSpace['entry'] = async ({ name, category }) =>
    category === null ? servers.find(name) : null

  return {
    space,
    root,
    entry: entryOf,
    get generation() {
      return look.generation + servers.generation
    },
    freshen(now) {
      look.freshen(now)
      servers.freshen()
    },
    async catchUp() {
      await look.catchUp()
      servers.freshen()
      await servers.read()
    },
    learn: createLearn(servers, look, readings),
    isCurrent(item) {
      if (item.form === 'entry') return servers.isCurrent(item)
      const entry = item.path === null ? undefined : look.entries.get(item.path)
      return entry !== undefined && stampAt(entry) === entry.stamp
    },
    async find(ref, itemType) {
      for (let tries = 1; ; tries++) {
        try {
          const found = await findNow(ref, itemType)
          // A file of its own says more than an entry among others.
          if (found !== null || itemType !== 'mcp') return found
          return await entryOf(ref)
        } catch (error) {
          if (!(error instanceof ChangedMeanwhile) || tries >= MOST_TRIES) throw error
        }
        look.freshen(true)
      }
    },
    pathOf: (ref, itemType) => fileNamed(ref, itemType, byStem.get(ref.name) ?? [])?.path ?? null,
    async read(paths) {
      const { items, faults } = await readAll(
        paths.flatMap((path) => look.entries.get(path) ?? []),
        readings,
      )
      const listed = paths.flatMap((path) => servers.last.items.get(path) ?? [])
      return { items: [...items, ...listed], faults }
    },
    stamps: () =>
      new Map([
        ...[...look.entries.values()].map(({ path, stamp }) => [path, stamp] as const),
        ...[...servers.last.items].map(([path, { contentHash }]) => [path, contentHash] as const),
      ]),
    faults: () => [...look.faults, ...servers.last.faults],
    close: () => look.close(),
  }
}

/** A file whose name says that it is a server is read once for each state of the files. */
function createLearn(
  servers: ServerRegistry,
  look: ReturnType<typeof openLook>,
  readings: Readings,
): FileSpace['learn'] {
  let learnedAt = -1
  return () =>
    after(servers.read(), () => {
      if (learnedAt === look.generation) return undefined
      learnedAt = look.generation
      const named = [...look.entries.values()].filter(({ stem }) => /^mcp_|_mcp$/.test(stem))
      return named.length === 0 ? undefined : readAll(named, readings).then(() => undefined)
    })
}

/** One that cannot be read does not stand in the way of the others. */
async function readAll(
  entries: readonly Entry[],
  { readAt }: Readings,
): Promise<{ items: readonly Item[]; faults: readonly Fault[] }> {
  const items: Item[] = []
  const faults: Fault[] = []
  const turn = openTurns()
  for (const entry of entries) {
    await turn()
    try {
      const read = await readAt(entry)
      if ('id' in read) items.push(read)
      else if (read.skipped !== null) faults.push({ path: entry.path, reason: read.skipped })
    } catch (error) {
      // The next look sees it as it is then.
      if (error instanceof ChangedMeanwhile) continue
      if (mayPass(error)) throw error
      faults.push({ path: entry.path, reason: messageOf(error), entry })
    }
  }
  return { items, faults }
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
