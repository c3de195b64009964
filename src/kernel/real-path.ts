import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'

/** What the system would call a path, links followed as far as there is something there. */
export function realPath(path: string): string {
  const missing: string[] = []
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === 'ELOOP' || errno === 'ENAMETOOLONG' || dirname(at) === at) {
        throw new KiwiError('INVALID_PARAMETERS', `Cannot use path "${path}": ${messageOf(error)}`, {
          cause: error,
        })
      }
      missing.unshift(basename(at))
    }
  }
}

/** The same for a name itself, which may be a link: only the folder it lies in is followed. */
export function realEntry(path: string): string {
  return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
}
