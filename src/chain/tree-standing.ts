import { dirname, join } from 'node:path'
import { LIMITS } from '../shared/limits.ts'
import { list, statOf } from '../spaces/disk.ts'
import { unkeepable } from '../spaces/entry.ts'
import type { Oddities } from '../spaces/oddity.ts'
import { isText, odditiesIn } from '../spaces/oddity.ts'
import type { ShadowGit } from './shadow-git.ts'

/** What stands below a project. Paths are from the work tree. */
export interface Known {
  /** Files and links with their modes; null where only git knows. */
  readonly files: ReadonlyMap<string, number | null>
  /** With their modes. */
  readonly folders: ReadonlyMap<string, number>
  /** What no undo can give back. */
  readonly odd: Oddities
}

/** What may be read at once to know a project. */
export interface Bounds {
  readonly files: number
  readonly bytes: number
}

interface Settled extends Known {
  /** Paths that are not covered, with the reasons. */
  readonly skipped: ReadonlyMap<string, string>
  /** How much was read to get there. */
  readonly read: { readonly files: number; readonly bytes: number }
}

/** Makes the index equal to what lies there, but for what is too large or closed to us. */
export async function settleIndex(git: ShadowGit, most: Bounds): Promise<Settled> {
  const [{ all, changed }, early] = await Promise.all([listed(git), emptyFolders(git)])
  const { workTree } = git.shadow
  const sizes = new Map([...changed.keys()].map((path) => [path, statOf(join(workTree, path))?.size ?? 0]))
  const large = [...sizes].flatMap(([path, size]) => (size > LIMITS.undoUntrackedBytes ? [path] : []))
  const untracked = await withoutTracked(git, large)
  const skipped = new Map<string, string>()
  const added: string[] = []
  const forgotten: string[] = []
  for (const [path, state] of changed) {
    const fault = faultOf(join(workTree, path), untracked.has(path))
    if (fault === null) added.push(path)
    else skipped.set(path, fault)
    if (fault !== null && state === 'known') forgotten.push(path)
  }
  const bytes = added.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0)
  if (added.length > most.files || bytes > most.bytes)
    throw new Error(`there are more than ${most.files} files or ${most.bytes} bytes to keep`)
  const update = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin']
  if (added.length > 0) await git.run(update, added)
  if (forgotten.length > 0) await git.run(['update-index', '-z', '--force-remove', '--stdin'], forgotten)
  // A folder of which nothing was known is told as one, whatever empty ones are in it.
  const bare = await withNested(git, added.length > 0 ? await emptyFolders(git) : early)
  const left = new Set(forgotten)
  const standing = [...all, ...added].filter((path) => !left.has(path))
  const known = standingNow(git, standing, bare)
  // A submodule is known to git, and what it holds is not.
  for (const path of standing)
    if (!known.files.has(path) && statOf(join(workTree, path, '.git')) !== null) skipped.set(path, NESTED)
  return { ...known, skipped, read: { files: added.length, bytes } }
}

/** What the index has, though some of it may be changed or gone by now; what is odd was noted beside it. */
export async function knownTo(git: ShadowGit, odd: Oddities): Promise<Known> {
  const [{ all }, bare] = await Promise.all([listed(git), emptyFolders(git)])
  const files = new Map(Array.from(all, (path) => [path, null]))
  const folders = foldersOf(git, [...all, ...bare.map((folder) => `${folder}/.`)])
  return { files, folders: new Map(Array.from(folders, ([path, mode]) => [path, mode ?? USUAL])), odd }
}

function standingNow(git: ShadowGit, paths: readonly string[], bare: readonly string[]): Known {
  const files = new Map<string, number>()
  const there = bare.map((folder) => `${folder}/.`)
  for (const path of paths) {
    const stats = statOf(join(git.shadow.workTree, path))
    if (stats === null) continue
    // What git has as a repository of its own is a folder.
    there.push(stats.isDirectory() ? `${path}/.` : path)
    if (!stats.isDirectory()) files.set(path, stats.mode & 0o7777)
  }
  const found = foldersOf(git, there)
  const replaced = new Set(Array.from(found).flatMap(([path, mode]) => (mode === null ? [path] : [])))
  // Git knows of what lay in a folder, and finds it through the link that took its place.
  if (replaced.size > 0)
    for (const path of files.keys()) if (liesBelow(path, replaced, git.shadow.prefix)) files.delete(path)
  const folders = new Map<string, number>()
  for (const [path, mode] of found)
    if (mode !== null && !liesBelow(path, replaced, git.shadow.prefix)) folders.set(path, mode)
  return { files, folders, odd: oddNow(git, folders.keys()) }
}

/** What no undo can give back, in these folders and at the top. */
export function oddNow({ shadow: { workTree, prefix } }: ShadowGit, folders: Iterable<string>): Oddities {
  return odditiesIn(workTree, [prefix.slice(0, -1), ...folders])
}

/** A folder whose own mode is not known has this one. */
const USUAL = 0o755

/** The folders that paths lie in, with their modes: the usual one where it is gone, null where something else stands. */
function foldersOf({ shadow }: ShadowGit, paths: readonly string[]): ReadonlyMap<string, number | null> {
  const folders = new Map<string, number | null>()
  for (const path of paths) {
    for (const above of foldersAbove(path, shadow.prefix)) {
      if (folders.has(above)) break
      const stats = statOf(join(shadow.workTree, above))
      folders.set(above, stats === null ? USUAL : stats.isDirectory() ? stats.mode & 0o7777 : null)
    }
  }
  return folders
}

/** From the nearest up to what is covered, that itself left out. */
export function foldersAbove(path: string, prefix: string): readonly string[] {
  const folders: string[] = []
  for (let above = dirname(path); above !== '.' && `${above}/` !== prefix; above = dirname(above))
    folders.push(above)
  return folders
}

export function liesBelow(path: string, folders: ReadonlySet<string>, prefix: string): boolean {
  return folders.size > 0 && foldersAbove(path, prefix).some((above) => folders.has(above))
}

/** Paths that the index has, and those that are otherwise than it has them or that it does not have. */
async function listed(git: ShadowGit): Promise<{ all: Set<string>; changed: Map<string, 'known' | 'new'> }> {
  const { prefix } = git.shadow
  const kinds = ['-c', '-m', '-d', '-o', '--exclude-standard']
  const lines = await git.run(['ls-files', '-z', '-t', ...kinds, ...within(git)])
  const all = new Set<string>()
  const changed = new Map<string, 'known' | 'new'>()
  for (const line of lines) {
    const path = line.slice(2)
    if (isOfKiwi(path, prefix) || !isText(path)) continue
    if (line.startsWith('?')) changed.set(path, 'new')
    else all.add(path)
    // Cached and as it was is H, or S where a sparse checkout leaves it out.
    if (/^[^HS?]/.test(line)) changed.set(path, 'known')
  }
  return { all, changed }
}

export async function changedPaths(git: ShadowGit): Promise<Iterable<string>> {
  return (await listed(git)).changed.keys()
}

/** Large files are read only where the project's own git tracks them. */
async function withoutTracked(git: ShadowGit, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const { own } = git.shadow
  if (own === null || paths.length === 0) return new Set(paths)
  const tracked = new Set(await git.run(['ls-files', '-z'], undefined, { GIT_INDEX_FILE: own.index }))
  return new Set(paths.filter((path) => !tracked.has(path)))
}

const NESTED = 'it is a repository of its own'

/** Why a path cannot be kept, or null. */
function faultOf(path: string, isLarge: boolean): string | null {
  if (statOf(path)?.isDirectory() === true) return NESTED
  if (isLarge) return `git does not track it, and it is over ${LIMITS.undoUntrackedBytes} bytes`
  return unkeepable(path)
}

/** Folders that hold nothing the index has; what lies in one of them is not told. */
export async function emptyFolders(git: ShadowGit): Promise<readonly string[]> {
  const { workTree, prefix } = git.shadow
  const lines = await git.run(['ls-files', '-z', '-o', '--directory', '--exclude-standard', ...within(git)])
  return lines
    .filter(
      (path) =>
        path.endsWith('/') &&
        path !== './' &&
        path !== prefix &&
        !isFolderOfKiwi(path, prefix) &&
        isText(path),
    )
    .map((path) => path.slice(0, -1))
    .filter((path) => statOf(join(workTree, path, '.git')) === null)
}

/** With the folders in them, but for what .gitignore names. */
export async function withNested(git: ShadowGit, bare: readonly string[]): Promise<readonly string[]> {
  const { workTree, prefix } = git.shadow
  const inside = (folder: string): readonly string[] =>
    list(join(workTree, folder))
      .filter((entry) => entry.isDirectory() && isText(entry.name))
      .map(({ name }) => `${folder}/${name}`)
  if (bare.every((folder) => inside(folder).length === 0)) return bare
  const ignored = ['ls-files', '-z', '-o', '-i', '--directory', '--exclude-standard', ...within(git)]
  const passedOver = new Set(await git.run(ignored))
  const all = new Set(bare)
  for (const folder of all) {
    if (all.size >= LIMITS.undoFiles) break
    for (const each of inside(folder)) {
      const isOwn = statOf(join(workTree, each, '.git')) !== null
      if (!isOwn && !passedOver.has(`${each}/`) && !isFolderOfKiwi(`${each}/`, prefix)) all.add(each)
    }
  }
  return [...all]
}

function within({ shadow: { prefix } }: ShadowGit): readonly string[] {
  return prefix === '' ? [] : ['--', prefix]
}

/** What Kiwi itself writes during a call is not what the call changed. */
function isOfKiwi(path: string, prefix: string): boolean {
  return OWN.some((folder) => path.startsWith(prefix + folder))
}

const OWN = ['.ai/outputs/', '.ai/logs/', '.ai/checkpoints/']

/** An empty one for policies is made before a program starts, so that it is not the program's to make. */
function isFolderOfKiwi(path: string, prefix: string): boolean {
  return isOfKiwi(path, prefix) || path === `${prefix}.ai/config/`
}
