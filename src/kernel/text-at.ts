import { constants, closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { errnoOf } from '../shared/errors.ts'

const MOST_BYTES = 1024 * 1024

/** What a file holds, to be shown: empty for none there; null for what is no plain file, or a large one. */
export function textAt(path: string): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? '' : null
  }
  try {
    const stats = fstatSync(file)
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(file, 'utf8') : null
  } finally {
    closeSync(file)
  }
}
