import { KiwiError } from '../shared/errors.ts'
import type { Item } from './item.ts'
import { contentHash } from './item.ts'
import type { NoItem } from './read-item.ts'
import { readEntry } from './read-item.ts'
import type { Entry } from './scan.ts'
import { stampAt } from './scan.ts'

/** Somebody put something else in the place of an item while it was read: the next look sees that. */
export class ChangedMeanwhile extends KiwiError {}

/** A folder is read file by file: what is put in its place meanwhile must not be mixed with it. */
export async function readSteadily(entry: Entry, space: 'project' | 'user'): Promise<Item | NoItem> {
  const read = await readEntry(entry, space).catch((error: unknown) => {
    assertSteady(entry)
    throw error
  })
  if (entry.kind === 'folder') assertSteady(entry)
  if (!('id' in read)) return read
  return { ...read, files: () => filesOf(read, entry) }
}

/** Files are read when they are asked for, and must still be those of the item. */
async function filesOf(item: Item, entry: Entry): ReturnType<Item['files']> {
  const files = await item.files().catch((error: unknown) => {
    assertSteady(entry)
    throw error
  })
  if (contentHash(item.raw, files) === item.contentHash) return files
  throw changedMeanwhile(entry)
}

function assertSteady(entry: Entry): void {
  if (stampAt(entry) !== entry.stamp) throw changedMeanwhile(entry)
}

function changedMeanwhile({ path }: Entry): ChangedMeanwhile {
  return new ChangedMeanwhile('CONFLICT', `Cannot read "${path}": it was changed meanwhile`, {
    hint: 'Send the call again, for what is there now',
    retryable: true,
    details: { path },
  })
}
