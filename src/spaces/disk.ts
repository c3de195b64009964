import type { Dirent, Stats } from 'node:fs'
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'

/**
 * What the system says of a path itself, and will say again: it is not there, or not for us. Anything else (no
 * descriptors, no memory, a failing disk) tells nothing about what is there, so it is never taken for an absence.
 */
const LASTING = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'ENODEV'])

const NOT_FOLLOWED = 'links are not followed here: put the file itself in its place'

/** A fault of a file or folder that lasts, or STORE_UNAVAILABLE for one that may pass. */
export function unreadable(path: string, error: unknown): KiwiError {
  const isLink = errnoOf(error) === 'ELOOP'
  const message = `Cannot read "${path}": ${isLink ? NOT_FOLLOWED : messageOf(error)}`
  if (isLasting(error)) return new KiwiError('PARSE_ERROR', message, { cause: error })
  return new KiwiError('STORE_UNAVAILABLE', message, {
    hint: 'Send the call again in a moment: the system could not read just now',
    details: { path },
    cause: error,
  })
}

/** Whether reading may go well the next time though the file stays as it is. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof KiwiError) || error.retryable
}

/** A folder that is missing or closed to us holds nothing. */
export function list(folder: string): readonly Dirent[] {
  return unlessAbsent(folder, () => readdirSync(folder, { withFileTypes: true })) ?? []
}

/** Of the thing itself, not of what it links to. What is closed to us is not there for us. */
export function statOf(path: string): Stats | null {
  return unlessAbsent(path, () => lstatSync(path, { throwIfNoEntry: false })) ?? null
}

/** Of what a link leads to. */
export function statBehind(path: string): Stats | null {
  return unlessAbsent(path, () => statSync(path, { throwIfNoEntry: false })) ?? null
}

/** Where a folder lies once every link is followed, when that is outside of `within`; null when it is inside or not there. */
export function leadsOutTo(folder: string, within: string): string | null {
  const [real, root] = [realPathOf(folder), realPathOf(within)]
  if (real === null || real === root) return null
  return root !== null && real.startsWith(root.endsWith('/') ? root : `${root}/`) ? null : real
}

/** With every link followed; null when it is not there. */
export function realPathOf(path: string): string | null {
  return unlessAbsent(path, () => realpathSync.native(path)) ?? null
}

/** What a look gives; null where there is nothing for us, and no fault that may pass. */
export function unlessAbsent<T>(path: string, look: () => T): T | null {
  try {
    return look()
  } catch (error) {
    if (isLasting(error)) return null
    throw unreadable(path, error)
  }
}

function isLasting(error: unknown): boolean {
  return LASTING.has(errnoOf(error))
}
