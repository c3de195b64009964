import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf } from './errors.ts'

/**
 * Makes a folder and those above it. Node's own way never ends where a folder is there and nothing can be made in it,
 * such as `/proc`.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (isFolder(folder) === true) return
  const above = dirname(folder)
  if (isFolder(above) === null) makeFolder(above, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (isFolder(folder) !== true) throw error
  }
}

/** Null when nothing is there; what is closed to us is told by what makes it. */
function isFolder(path: string): boolean | null {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? null : false
  }
}
