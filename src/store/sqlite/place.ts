import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../../shared/errors.ts'
import { makeFolder } from '../../shared/make-folder.ts'

/**
 * Makes the folder and the file when they are missing, for their owner only; the file as a copy of `start`, or empty.
 * Returns why they cannot be written.
 */
export function preparePlace(file: string, start: string | null): string | null {
  const folder = dirname(file)
  try {
    makeFolder(folder, 0o700)
    // SQLite puts its log beside the file, and gives it the mode of the file.
    accessSync(folder, constants.W_OK | constants.X_OK)
    if (start === null || !copy(start, file)) create(file)
    accessSync(file, constants.W_OK)
    if (!statSync(file).isFile()) throw new Error('it is no file')
    return null
  } catch (error) {
    const code = errnoOf(error)
    if (UNWRITABLE.has(code)) return messageOf(error)
    const isFull = code === 'ENOSPC' || code === 'EDQUOT'
    throw new KiwiError(
      isFull ? 'STORE_FULL' : 'STORE_UNAVAILABLE',
      `Cannot use the store "${file}": ${messageOf(error)}`,
      { details: { file }, cause: error },
    )
  }
}

/**
 * Never opens a file that is there: closing it would drop the locks that another connection of this process
 * holds on it. For the same reason nothing may run between opening and closing.
 */
function create(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}

/** Whole or not at all. A log without its file would be read as the log of the copy: it is left to SQLite, as is any failure. */
function copy(start: string, file: string): boolean {
  if (existsSync(file) || existsSync(`${file}-wal`)) return false
  const beside = `${file}.${process.pid}.new`
  try {
    closeSync(openSync(beside, 'wx', 0o600))
    copyFileSync(start, beside)
    linkSync(beside, file)
    return true
  } catch {
    return false
  } finally {
    rmSync(beside, { force: true })
  }
}

/** The last three: a parent is a file, or lies where nothing can be made. */
const UNWRITABLE: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOTDIR', 'EEXIST', 'ENOENT'])
