import { KiwiError } from '../shared/errors.ts'
import type { Item } from './item.ts'
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
  return read
}

function assertSteady(entry: Entry): void {
  if (stampAt(entry) === entry.stamp) return
  throw new ChangedMeanwhile('STORE_UNAVAILABLE', `Cannot read "${entry.path}": it changed meanwhile`, {
    hint: 'Send the call again',
    details: { path: entry.path },
  })
}
