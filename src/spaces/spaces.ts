import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Store } from '../store/store.ts'
import type { FileSpace } from './file-space.ts'
import { openFileSpace } from './file-space.ts'
import type { Lookup } from './lookup.ts'
import { openLookup } from './lookup.ts'
import { seed } from './seed.ts'
import type { Shelf } from './shelf.ts'

/** The spaces of every project this process serves. */
export interface Spaces {
  /** The look-up of one project; null = no project, so only user and store. */
  at(projectPath: string | null): Lookup
}

interface SpacesMeans {
  readonly store: Store
  readonly clock: Clock
  readonly userSpace: string
  readonly builtinFolder: string
}

/** A server that saw many projects keeps only those used last. */
const MOST_PROJECTS = 64

export async function openSpaces({ store, clock, userSpace, builtinFolder }: SpacesMeans): Promise<Spaces> {
  await seed(store, builtinFolder)
  const user = openFileSpace({ space: 'user', root: userSpace, within: null }, clock)
  const shelf = openShelf(store, clock)
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
      const lookup = openLookup(folder, folder === null ? [user] : [projectSpace(folder, clock), user], shelf)
      lookups.set(key, lookup)
      const [oldest] = lookups.keys()
      if (lookups.size > MOST_PROJECTS && oldest !== undefined) lookups.delete(oldest)
      return lookup
    },
  }
}

function projectSpace(folder: string, clock: Clock): FileSpace {
  return openFileSpace({ space: 'project', root: join(folder, '.ai'), within: folder }, clock)
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

function openShelf(store: Store, clock: Clock): Shelf {
  const items: Shelf['items'] = new Map()
  let reserved: Promise<ReadonlySet<string>> | null = null
  let generation = store.generation()
  let lookedAt = clock.monotonic()
  return {
    store,
    items,
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
        items.clear()
      }
      return now
    },
  }
}
