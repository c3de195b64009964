import type { PathLike } from 'node:fs'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
} from 'node:fs'
import { readlinkSync, realpathSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs'
import { unlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import { entryAt, isGone, isSame } from '../spaces/entry.ts'
import type { Entry } from '../store/undo.ts'

/** Why a folder stays. */
export const HOLDS_MORE = 'it holds what the call did not put there, or what undo does not cover'

/** One path on its way back to what it was. */
export interface Restoration {
  readonly path: string
  /** What must still stand there. */
  readonly from: Entry
  readonly to: Entry
  /** Of the file that comes back. */
  readonly bytes: Uint8Array | null
}

/**
 * Puts one path back, whole or not at all: whoever is killed at any point leaves what was there or what comes back.
 * Returns why it was left as it is, or null.
 */
export function putBack(restoration: Restoration): string | null {
  const { path, from } = restoration
  try {
    return inFolder(dirname(path), (folder) => {
      const at = join(folder, basename(path))
      if (!isSame(entryAt(at).entry, from)) return 'it was changed meanwhile'
      replace(at, restoration)
      return null
    })
  } catch (error) {
    if (errnoOf(error) === 'ENOTEMPTY') return HOLDS_MORE
    if (isGone(error)) return 'the folder it lay in is gone'
    throw error
  }
}

/**
 * The folder is held open and named by its descriptor where the system can, so that a link put in its place
 * meanwhile leads nowhere.
 */
function inFolder<T>(folder: string, work: (held: string) => T): T {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const held = `/proc/self/fd/${descriptor}`
    const isNamed = existsSync(held)
    const real = isNamed ? readlinkSync(held) : realpathSync.native(folder)
    if (real !== folder)
      throw Object.assign(new Error(`"${folder}" leads elsewhere now`), { code: 'ENOTDIR' })
    const done = work(isNamed ? held : folder)
    sync(descriptor)
    return done
  } finally {
    closeSync(descriptor)
  }
}

function replace(at: string, { from, to, bytes }: Restoration): void {
  // Only a file or link can be replaced in one step; what has another kind goes first.
  if (from.kind === 'folder' && to.kind !== 'folder') rmdirSync(at)
  if (to.kind === 'folder' && (from.kind === 'file' || from.kind === 'link')) unlinkSync(at)
  switch (to.kind) {
    case 'absent':
      if (from.kind !== 'folder') unlinkSync(at)
      return
    case 'folder':
      if (from.kind !== 'folder') mkdirSync(at)
      chmodSync(at, to.mode)
      return
    case 'link':
      return throughBeside(at, (beside) => symlinkSync(to.target, beside))
    case 'file':
      if (bytes === null) throw new TypeError('a file comes back without its bytes')
      return throughBeside(at, (beside) => writeWhole(beside, bytes, to.mode))
  }
}

/** The same name each time: whoever was killed over it leaves it to the next one to try. */
function throughBeside(at: string, make: (beside: string) => void): void {
  const beside = join(dirname(at), `.${sha256(basename(at)).slice(0, 16)}.kiwi-undo`)
  rmSync(beside, { force: true })
  make(beside)
  renameSync(beside, at)
}

function writeWhole(path: PathLike, bytes: Uint8Array, mode: number): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(file, bytes)
    fchmodSync(file, mode)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function sync(folder: number): void {
  try {
    fsyncSync(folder)
  } catch (error) {
    // Some file systems sync no folders, and need not.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(errnoOf(error))) throw error
  }
}
