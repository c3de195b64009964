import type { Dirent } from 'node:fs'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { unreadable } from './disk.ts'

/** Folders inside each other that are looked into. */
export const DEEPEST = 16
/** The manifest, the files, and as many folders and other things besides. */
const MOST_NAMES = 2 * LIMITS.bundleFiles + 1

/**
 * Paths of the plain files in the folder of an item, its manifest too. A folder may hold anything, so the look is
 * bounded, and links and the like are left out: `onOther` is told of them.
 */
export function folderFiles(folder: string, onOther: (path: string) => void = () => {}): readonly string[] {
  const files: string[] = []
  let names = 0
  const walk = (relative: string, depth: number): void => {
    if (depth > DEEPEST) {
      throw new KiwiError(
        'TOO_DEEP',
        `Cannot read "${folder}": its folders are nested deeper than ${DEEPEST} levels`,
      )
    }
    for (const found of listed(join(folder, relative))) {
      const path = relative === '' ? found.name : `${relative}/${found.name}`
      names += 1
      if (found.isFile()) files.push(path)
      else if (!found.isDirectory()) onOther(path)
      if (files.length > LIMITS.bundleFiles + 1 || names > MOST_NAMES) {
        throw new KiwiError(
          'MESSAGE_TOO_LARGE',
          `Cannot read "${folder}": it holds more than ${LIMITS.bundleFiles} files or folders`,
        )
      }
      if (found.isDirectory()) walk(path, depth + 1)
    }
  }
  walk('', 0)
  return files
}

/** A folder that is closed to us may hold a part of the item: that is a fault, not an absence. */
function listed(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    throw unreadable(folder, error)
  }
}
