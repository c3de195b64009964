import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { ItemName } from '../shared/ids.ts'
import type { JsonValue } from '../shared/json.ts'
import type { KnownSecrets } from '../shared/known-secrets.ts'
import type { Log } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import { writtenCredentials } from './credentials.ts'
import type { FileSpace } from './file-space.ts'
import { openFileSpace } from './file-space.ts'
import type { Item } from './item.ts'
import type { Lookup } from './lookup.ts'
import { openLookup } from './lookup.ts'
import { seed } from './seed.ts'
import type { ServerRegistry } from './server-registry.ts'
import { openServerRegistry } from './server-registry.ts'
import type { Shelf } from './shelf.ts'
import { findShelved } from './shelf.ts'

/** The spaces of every project this process serves. */
export interface Spaces {
  /** The look-up of one project; null = no project, so only user and store. */
  at(projectPath: string | null): Lookup
  close(): void
}

interface SpacesMeans {
  readonly store: Store
  readonly clock: Clock
  readonly userSpace: string
  readonly builtinFolder: string
  /** Whether a person stands behind a server; left out, they do behind all. */
  readonly isVouched?: Shelf['isVouched'] | undefined
  /** Given: the system is asked to report changes of files, and this is told when it cannot. */
  readonly watchLog?: Log | undefined
  readonly log?: Log | undefined
  /** Told of the credentials that are written out where servers are named. */
  readonly known?: KnownSecrets
}

interface Place {
  readonly space: FileSpace['space']
  readonly root: string
  /** The folder that no link may lead out of. */
  readonly within: string | null
}

/** A server that saw many projects keeps only those used last. */
const MOST_PROJECTS = 64

export async function openSpaces(means: SpacesMeans): Promise<Spaces> {
  const { store, clock, userSpace, watchLog } = means
  await seed(store, means.builtinFolder)
  const { isVouched = async () => true } = means
  const shelf: Shelf = { ...openShelf(store, clock), isVouched }
  const shipped = async (id: string): Promise<Item | null> => {
    const name = ItemName.safeParse(id)
    const found = name.success
      ? await findShelved(shelf, { name: name.data, category: null, version: null })
      : null
    return found?.space === 'builtin' && found.manifest.tool_type === 'mcp_server' ? found : null
  }
  const learn = (config: JsonValue | undefined): void => means.known?.add(writtenCredentials(config))
  const open = (servers: ServerRegistry, { space, root, within }: Place): FileSpace => {
    const onFault = (reason: string): void => watchLog?.warn('watch.off', { folder: root, reason })
    const told = { learn, log: means.log, onWatchFault: watchLog && onFault }
    return openFileSpace({ space, root, within, servers, ...told }, clock)
  }
  const userPlace: Place = { space: 'user', root: userSpace, within: null }
  const userServers = openServerRegistry({ ...userPlace, below: null, shipped, learn })
  const user = open(userServers, userPlace)
  const openProject = (folder: string): FileSpace => {
    const place: Place = { space: 'project', root: join(folder, '.ai'), within: folder }
    return open(openServerRegistry({ ...place, below: userServers, shipped, learn }), place)
  }
  const lookups = new Map<string, Lookup>()
  return {
    at(projectPath) {
      const folder = projectPath === null ? null : resolve(projectPath)
      const key = folder ?? ''
      const known = lookups.get(key)
      if (known !== undefined) {
        lookups.delete(key)
        lookups.set(key, known)
        return known
      }
      if (folder !== null && !isFolder(folder)) {
        throw new KiwiError(
          'PROJECT_PATH_REQUIRED',
          `Cannot use "${folder.slice(0, 256)}" as the project: it is not a folder`,
        )
      }
      const own = folder === null ? [] : [openProject(folder)]
      const lookup = openLookup(folder, [...own, user], shelf)
      lookups.set(key, lookup)
      const [oldest] = lookups
      if (lookups.size > MOST_PROJECTS && oldest !== undefined) {
        lookups.delete(oldest[0])
        for (const space of oldest[1].spaces) if (space !== user) space.close()
      }
      return lookup
    },
    close() {
      for (const { spaces } of lookups.values()) for (const space of spaces) space.close()
      user.close()
    },
  }
}

/** What cannot be looked at, for whatever reason, is no folder to work in. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** How old the knowledge of what other processes wrote may be. */
const FRESH_MS = 100

function openShelf(store: Store, clock: Clock): Omit<Shelf, 'isVouched'> {
  const items: Shelf['items'] = new Map()
  const listings: Shelf['listings'] = new Map()
  const listed: Shelf['listed'] = new Map()
  let reserved: Promise<ReadonlySet<string>> | null = null
  let generation = store.generation()
  let lookedAt = clock.monotonic()
  return {
    store,
    items,
    listings,
    listed,
    reserved() {
      reserved ??= store.registry.reserved().catch((error: unknown) => {
        reserved = null
        throw error
      })
      return reserved
    },
    freshen(isPatient = false) {
      if (isPatient && clock.monotonic() - lookedAt < FRESH_MS) return generation
      lookedAt = clock.monotonic()
      const now = store.generation()
      if (now !== generation) {
        generation = now
        reserved = null
        for (const kept of [items, listings, listed]) kept.clear()
      }
      return now
    },
  }
}
