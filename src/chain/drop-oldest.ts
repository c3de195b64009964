import { lstatSync } from 'node:fs'
import { chmod, lstat, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { LIMITS } from '../shared/limits.ts'

/** Whoever uses a folder renews its time once a day, so that one of a running process is never as old as this. */
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

interface Bounds {
  readonly most: number
  readonly unusedMs: number
}

/** Removes the folders beyond the bound, those first that were not used for longest. */
export async function dropOldest(
  root: string,
  now: number,
  { most, unusedMs }: Bounds = { most: LIMITS.workFolders, unusedMs: WEEK_MS },
): Promise<void> {
  const names = await readdir(root)
  const surplus = names.length - most
  if (surplus <= 0) return
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(root, name)
      // Another process may be dropping the same ones.
      const stats = await lstat(path).catch(() => null)
      return { path, usedAt: stats?.mtimeMs ?? now }
    }),
  )
  const unused = found
    .filter(({ usedAt }) => now - usedAt > unusedMs)
    .toSorted((a, b) => a.usedAt - b.usedAt)
    .slice(0, surplus)
  for (const { path } of unused) await drop(path)
}

/** Out of the way first, so that nobody takes half of it for the whole. */
async function drop(folder: string): Promise<void> {
  // A name with a dot is no folder in use, but what an ended process left beside one.
  const aside = basename(folder).includes('.') ? folder : `${folder}.old`
  try {
    if (aside !== folder) await rename(folder, aside)
    await removeFolder(aside)
  } catch {
    // What cannot be removed now is tried again with the next surplus.
  }
}

/** Folders were made read-only, and nothing can be taken out of a read-only folder. */
export async function removeFolder(folder: string): Promise<void> {
  if (isFolder(folder)) {
    await chmod(folder, 0o755)
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeFolder(join(folder, entry.name))
    }
  }
  await rm(folder, { recursive: true, force: true })
}

/** A link to a folder is none: it leads wherever it is pointed. */
export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
