import { dirname, isAbsolute, join, sep } from 'node:path'
import { realPathOf } from '../../spaces/disk.ts'

/** Where the system comes to by a path: a `..` behind a link leads to the folder above what the link leads to. */
export function leadPath(from: string, path: string): string {
  let at = isAbsolute(path) ? sep : (realPathOf(from) ?? from)
  for (const segment of path.split(sep)) {
    if (segment === '' || segment === '.') continue
    const next = segment === '..' ? dirname(at) : join(at, segment)
    at = realPathOf(next) ?? next
  }
  return at
}

export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
