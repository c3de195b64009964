import type { BigIntStats, Dirent, Stats } from 'node:fs'
import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { LIMITS } from '../shared/limits.ts'
import { visible } from '../shared/visible.ts'
import { unlessAbsent } from './disk.ts'

/** Something that can be seen and told apart, but not given back once it is gone. */
export interface Oddity {
  readonly why: string
  /** Another one when it was changed. */
  readonly stamp: string
}

/** By their names, in which every byte can be told. */
export type Oddities = ReadonlyMap<string, Oddity>

const NO_TEXT = 'its name is no text'

/** Why what stands somewhere cannot be kept, by its kind alone; null for files, folders and links. */
export function oddKind(stats: Kinds): string | null {
  if (stats.isFile() || stats.isDirectory() || stats.isSymbolicLink()) return null
  if (stats.isFIFO()) return 'it is a pipe'
  return stats.isSocket() ? 'it is a socket' : 'it is a device'
}

type Kinds = Pick<Stats, 'isFIFO' | 'isSocket' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>

/** Whether a name, once read as text, still says which bytes it has. */
export function isText(name: string): boolean {
  return !name.includes('\uFFFD')
}

interface Open {
  readonly folder: Buffer
  /** Whether its own name is a text. */
  readonly isNamed: boolean
}

/** What stands directly in these folders below a root and cannot be kept, and all below a folder whose name is no text. */
export function odditiesIn(root: string, folders: Iterable<string>): Oddities {
  const found = new Map<string, Oddity>()
  const open: Open[] = Array.from(folders, (folder) => ({ folder: Buffer.from(folder), isNamed: true }))
  for (const { folder, isNamed } of open) {
    for (const entry of entriesIn(root, folder)) {
      const path = within(folder, entry.name)
      const why = isNamed && isText(entry.name.toString()) ? oddKind(entry) : NO_TEXT
      if (why === null || found.size >= LIMITS.undoFiles) continue
      const oddity = oddityAt(within(Buffer.from(root), path), why)
      if (oddity !== null) found.set(nameOf(path), oddity)
      if (entry.isDirectory()) open.push({ folder: path, isNamed: false })
    }
  }
  return found
}

/** Which of them came, went or changed between two looks. */
export function oddChanges(before: Oddities, after: Oddities): readonly string[] {
  const changes: string[] = []
  for (const [name, { why, stamp }] of before) {
    const now = after.get(name)
    if (now?.stamp !== stamp) changes.push(`${name}: ${now === undefined ? 'gone' : 'changed'}, and ${why}`)
  }
  for (const [name, { why }] of after) if (!before.has(name)) changes.push(`${name}: new, and ${why}`)
  return changes
}

export function oddityAt(path: string | Buffer, why: string): Oddity | null {
  const stats = unlessAbsent(nameOf(path), () => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
  return stats === null || stats === undefined ? null : { why, stamp: stampOf(path, stats) }
}

function stampOf(path: string | Buffer, stats: BigIntStats): string {
  const { ino, mode, rdev, size, mtimeNs, ctimeNs } = stats
  // Of these the time says who used them last, not what they are; and what lies in a folder is seen by itself.
  if (oddKind(stats) !== null || stats.isDirectory()) return [ino, mode, rdev].join(' ')
  const target = stats.isSymbolicLink() ? readlinkSync(path, 'hex') : ''
  return [ino, mode, size, mtimeNs, ctimeNs, target].join(' ')
}

/** One line in which every byte of a path can be told. */
export function nameOf(path: string | Buffer): string {
  const text = path.toString()
  if (typeof path === 'string' || isText(text)) return visible(text)
  return Array.from(path, (byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== BACKSLASH
      ? String.fromCodePoint(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('')
}

const BACKSLASH = 0x5c

function entriesIn(root: string, folder: Buffer): readonly Dirent<Buffer>[] {
  const path = within(Buffer.from(root), folder)
  const read = () => readdirSync(path, { withFileTypes: true, encoding: 'buffer' })
  return unlessAbsent(nameOf(path), read) ?? []
}

function within(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 || name.length === 0
    ? Buffer.concat([folder, name])
    : Buffer.concat([folder, SLASH, name])
}

const SLASH = Buffer.from('/')
