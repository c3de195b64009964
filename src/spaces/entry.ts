import type { Stats } from 'node:fs'
import { accessSync, closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import type { Entry, KeptBytes } from '../store/undo.ts'
import { statOf } from './disk.ts'
import type { Oddities, Oddity } from './oddity.ts'
import { isText, nameOf, oddKind, odditiesIn, oddityAt } from './oddity.ts'

/** What stands at a path, and the bytes of a file. Throws what the system says, or that it is nothing to be kept. */
export function entryAt(path: string, mostBytes = Infinity): { entry: Entry; bytes: Uint8Array | null } {
  const stats = statOf(path)
  if (stats === null) return { entry: ABSENT, bytes: null }
  const fault = faultOf(path, stats)
  if (fault !== null) throw new Error(`"${path}" cannot be kept: ${fault}`)
  if (stats.isSymbolicLink()) return { entry: { kind: 'link', target: readlinkSync(path) }, bytes: null }
  if (stats.isDirectory()) return { entry: { kind: 'folder', mode: stats.mode & 0o7777 }, bytes: null }
  // It may have become something else meanwhile: a link leads away, and a pipe would be waited for.
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { mode, size } = fstatSync(file)
    if (size > mostBytes) throw new Error(`"${path}" is too large to be kept`)
    const bytes = readFileSync(file)
    return { entry: { kind: 'file', mode: mode & 0o7777, hash: sha256(bytes) }, bytes }
  } finally {
    closeSync(file)
  }
}

/** Why what stands at a path cannot be kept, whatever else is kept; null when it can, or nothing is there. */
export function unkeepable(path: string): string | null {
  const stats = statOf(path)
  if (stats === null) return null
  return faultOf(path, stats) ?? (stats.isSymbolicLink() || isOpen(path) ? null : 'it cannot be read')
}

function isOpen(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch (error) {
    return !['EACCES', 'EPERM'].includes(errnoOf(error))
  }
}

function faultOf(path: string, stats: Stats): string | null {
  if (stats.isSymbolicLink() && !isText(readlinkSync(path))) return 'what it links to is no text'
  return oddKind(stats)
}

export const ABSENT: Entry = { kind: 'absent' }

/** Whether two entries are the same, the mode and the bytes too. */
export function isSame(a: Entry, b: Entry): boolean {
  switch (a.kind) {
    case 'absent':
      return b.kind === 'absent'
    case 'file':
      return b.kind === 'file' && a.hash === b.hash && a.mode === b.mode
    case 'link':
      return b.kind === 'link' && a.target === b.target
    case 'folder':
      return b.kind === 'folder' && a.mode === b.mode
  }
}

interface Bounds {
  readonly bytes: number
  readonly files: number
}

interface Seen {
  readonly entries: ReadonlyMap<string, Entry>
  /** The bytes of every file, each once. */
  readonly bytes: readonly KeptBytes[]
  /** What is there and cannot be kept; none of the entries. */
  readonly odd: Oddities
}

/**
 * What stands at these paths and below them. Folders that are missing above them are seen as absent: a call may make
 * them. What cannot be kept is named beside the rest. Throws when it is more than the bounds.
 */
export function seeEntries(paths: readonly string[], { bytes: mostBytes, files }: Bounds): Seen {
  const entries = new Map<string, Entry>()
  const kept = new Map<string, Uint8Array>()
  let room = mostBytes
  const odd = new Map<string, Oddity>()
  const links = new Set<string>()
  // What lies above comes first: it says whether a path below it is one.
  const open = paths.toSorted((a, b) => b.length - a.length)
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (entries.has(path)) continue
    if (entries.size >= files) throw new Error(`it may change more than ${files} files`)
    if (liesBelow(path, links)) {
      entries.set(path, ABSENT)
      continue
    }
    const fault = unkeepable(path)
    const oddity = fault === null ? null : oddityAt(path, fault)
    if (oddity !== null) {
      odd.set(nameOf(path), oddity)
      continue
    }
    const { entry, bytes } = entryAt(path, room)
    entries.set(path, entry)
    if (entry.kind === 'link') links.add(path)
    if (entry.kind === 'file' && bytes !== null && !kept.has(entry.hash)) {
      kept.set(entry.hash, bytes)
      room -= bytes.byteLength
    }
    if (entry.kind === 'folder') {
      open.push(
        ...readdirSync(path)
          .filter(isText)
          .map((name) => join(path, name)),
      )
      for (const [name, each] of odditiesIn(path, [''])) odd.set(`${nameOf(path)}/${name}`, each)
    }
    const above = dirname(path)
    if (entry.kind === 'absent' && statOf(above) === null) open.push(above)
  }
  return { entries, bytes: Array.from(kept, ([hash, bytes]) => ({ hash, bytes })), odd }
}

/** Below a link is nothing: what it leads to lies elsewhere. */
function liesBelow(path: string, links: ReadonlySet<string>): boolean {
  if (links.size === 0) return false
  for (let above = dirname(path); above !== dirname(above); above = dirname(above))
    if (links.has(above)) return true
  return false
}

/** Nothing is there, or the folder above is no longer one. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errnoOf(error))
}
