import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { mayPass } from './disk.ts'
import type { Item } from './item.ts'
import type { NoItem } from './read-item.ts'
import type { Learn } from './read-servers.ts'
import { readSteadily } from './read-steadily.ts'
import type { Entry } from './scan.ts'

/** What was read of the files of a space, kept while their stamps stay. */
export interface Readings {
  readonly readAt: (entry: Entry) => Promise<Item | NoItem>
  /** The item at an entry; null when there is none. */
  readonly itemAt: (entry: Entry) => Promise<Item | null>
  /** Forgets all other paths. */
  readonly keep: (isThere: (path: string) => boolean) => void
}

interface ReadingMeans {
  readonly learn?: Learn | undefined
  /** Told of what is no fault of a file. */
  readonly log?: Log | undefined
}

const CARRIED: NoItem = { skipped: null }

export function openReadings(
  space: 'project' | 'user',
  entryAt: (path: string) => Entry | undefined,
  { learn, log }: ReadingMeans = {},
): Readings {
  const known = new Map<string, { stamp: string; item: Promise<Item | NoItem> }>()

  const read = async (entry: Entry): Promise<Item | NoItem> => {
    try {
      return (await isCarried(entry)) ? CARRIED : learned(await readSteadily(entry, space))
    } catch (error) {
      throw heldTo(entry, error, log)
    }
  }

  const learned = (found: Item | NoItem): Item | NoItem => {
    if ('id' in found && found.manifest.tool_type === 'mcp_server') learn?.(found.manifest.config)
    return found
  }

  const readAt = (entry: Entry): Promise<Item | NoItem> => {
    const before = known.get(entry.path)
    if (before?.stamp === entry.stamp) return before.item
    const now = { stamp: entry.stamp, item: read(entry) }
    known.set(entry.path, now)
    // A fault of the item is kept with it; one of the disk is not the item's.
    now.item.catch((error: unknown) => {
      if (mayPass(error) && known.get(entry.path) === now) known.delete(entry.path)
    })
    return now.item
  }

  /** A script beside a manifest of its name that starts it is a file of that item, and none by itself. */
  const isCarried = async ({ kind, path, beside }: Entry): Promise<boolean> => {
    if (kind !== 'script') return false
    for (const name of beside) {
      const manifest = entryAt(join(dirname(path), name))
      const found = manifest === undefined ? null : await readAt(manifest).catch(unlessPassing)
      if (found !== null && 'id' in found && found.filePaths.includes(basename(path))) return true
    }
    return false
  }

  return {
    readAt,
    async itemAt(entry) {
      const found = await readAt(entry)
      return 'id' in found ? found : null
    },
    keep(isThere) {
      for (const path of known.keys()) if (!isThere(path)) known.delete(path)
    },
  }
}

/** A mistake of ours that one file brings to light is said, and keeps nobody from all the others. */
function heldTo({ path }: Entry, error: unknown, log: Log | undefined): unknown {
  // What the system could not do is none of them.
  if (error instanceof KiwiError || /^E[A-Z\d]+$/.test(errnoOf(error))) return error
  const reason = messageOf(error)
  log?.error('item.not_read', { path, reason, stack: error instanceof Error ? (error.stack ?? '') : '' })
  return new KiwiError('INTERNAL', `Cannot read "${path}": ${reason}`, {
    hint: 'It is a fault of Kiwi that this file brings to light: report it with the file, and move the file away to go on',
    details: { path },
    cause: error,
  })
}

/** What is wrong with a file makes it no item; what is wrong with the disk is an error. */
export function unlessPassing(error: unknown): null {
  if (mayPass(error)) throw error
  return null
}
