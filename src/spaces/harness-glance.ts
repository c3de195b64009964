import type { Stats } from 'node:fs'
import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPathOf } from './disk.ts'
import type { HarnessPlaces } from './harness.ts'
import { fileOf, foldersTo, harnessSources, misspelt } from './harness.ts'

/** Whether everything that a look at harness files depends on is as it was. */
export type Glance = () => boolean

/**
 * To be made before the look that it stands for, so that what changes in between is seen. It asks for every file, and
 * for every gap in which one could appear: less than half the work of a look. Null where a link or a closed folder is
 * in between, or no project there: then only the look itself tells.
 */
export function harnessGlance(places: HarnessPlaces, projects: readonly string[]): Glance | null {
  try {
    const reals = projects.flatMap((project) => realPathOf(project) ?? [])
    if (reals.length < projects.length) return null
    const above = reals.flatMap(foldersTo)
    const paths = [...harnessSources(places, []).map(({ path }) => path), ...above.map(fileOf)]
    const seen = see(paths)
    // These are what they were as long as the project lies where it did.
    for (const folder of above) seen.folders.delete(folder)
    const [files, folders] = [Array.from(seen.files), Array.from(seen.folders)]
    return () => {
      try {
        return (
          projects.every((project, at) => realPathOf(project) === reals[at]) &&
          files.every(([path, before]) => isSameFile(before, look(path))) &&
          folders.every(([path, before]) => isSameFolder(before, look(path)))
        )
      } catch {
        return false
      }
    }
  } catch {
    return null
  }
}

interface Seen {
  /** What is there by each name; undefined for nothing. */
  readonly files: Map<string, Stats | undefined>
  /** What they are missing from. */
  readonly folders: Map<string, Stats>
}

/** Each file by both its names; where it is missing, the folder or the file that is the first to be missing. */
function see(paths: readonly string[]): Seen {
  const seen: Seen = { files: new Map(), folders: new Map() }
  for (const path of paths) {
    const { missing, folder, stat } = nearest(path)
    if (!stat.isDirectory()) throw new Error(`"${folder}" is no folder`)
    const names = missing === path ? [path, misspelt(path)] : [missing]
    const found = names.map(look)
    for (const [at, name] of names.entries()) seen.files.set(name, found[at])
    if (found.every((one) => one === undefined)) seen.folders.set(folder, stat)
  }
  return seen
}

function nearest(path: string): { missing: string; folder: string; stat: Stats } {
  const folder = dirname(path)
  const stat = look(folder)
  return stat === undefined ? nearest(folder) : { missing: path, folder, stat }
}

const QUIETLY = { throwIfNoEntry: false } as const

function look(path: string): Stats | undefined {
  return lstatSync(path, QUIETLY)
}

function isSameFile(before: Stats | undefined, now: Stats | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  return (
    before.ino === now.ino &&
    before.dev === now.dev &&
    before.size === now.size &&
    before.mtimeMs === now.mtimeMs &&
    before.ctimeMs === now.ctimeMs
  )
}

/** What is in it is asked for by name. */
function isSameFolder(before: Stats, now: Stats | undefined): boolean {
  return now?.ino === before.ino && now.dev === before.dev && now.isDirectory()
}
