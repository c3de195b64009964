import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import type { ShadowGit } from './shadow-git.ts'

/** What stands below a project, as git and the system tell. Paths are from the work tree. */
export interface Standing extends Known {
  readonly skipped: readonly string[]
  /** The shadow has grown enough. */
  readonly isFull: boolean
}

export interface Known {
  /** Files and links, with git's own word for what they are. */
  readonly files: ReadonlyMap<string, KnownFile>
  /** With their modes. */
  readonly folders: ReadonlyMap<string, number>
}

interface KnownFile {
  readonly type: 'file' | 'link'
  readonly mode: number
}

/** Paths that are otherwise than the index has them, and whether it has them at all. */
export async function changedPaths(git: ShadowGit): Promise<ReadonlyMap<string, 'known' | 'new'>> {
  const { prefix } = git.shadow
  const listed = await git.run([
    'ls-files',
    '-z',
    '-t',
    '-m',
    '-d',
    '-o',
    '--exclude-standard',
    ...within(git),
  ])
  const paths = new Map<string, 'known' | 'new'>()
  for (const line of listed) {
    const path = line.slice(2)
    if (isOfKiwi(path, prefix)) continue
    if (!paths.has(path)) paths.set(path, line.startsWith('?') ? 'new' : 'known')
  }
  return paths
}

/** Makes the index equal to what lies there, but for what is too large or closed to us. */
export async function settleIndex(
  git: ShadowGit,
): Promise<{ skipped: readonly string[]; files: number; bytes: number }> {
  const changed = await changedPaths(git)
  const { workTree } = git.shadow
  const sizes = new Map([...changed.keys()].map((path) => [path, statOf(join(workTree, path))?.size ?? 0]))
  const large = [...sizes].flatMap(([path, size]) => (size > LIMITS.undoUntrackedBytes ? [path] : []))
  const tracked = await trackedAmong(git, large)
  const skipped: string[] = []
  const added: string[] = []
  const forgotten: string[] = []
  for (const [path, state] of changed) {
    const fault = faultOf(join(workTree, path), large.includes(path) && !tracked.has(path))
    if (fault === null) added.push(path)
    else {
      skipped.push(`${path}: ${fault}`)
      if (state === 'known') forgotten.push(path)
    }
  }
  const bytes = added.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0)
  if (added.length > LIMITS.undoFiles || bytes > LIMITS.undoBytes)
    throw new Error(`there are more than ${LIMITS.undoFiles} files or ${LIMITS.undoBytes} bytes to keep`)
  const update = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin']
  if (added.length > 0) await git.run(update, added)
  if (forgotten.length > 0) await git.run(['update-index', '-z', '--force-remove', '--stdin'], forgotten)
  return { skipped, files: added.length, bytes }
}

/** Large files are read only where the project's own git tracks them. */
async function trackedAmong(
  { run, shadow: { own } }: ShadowGit,
  paths: readonly string[],
): Promise<Set<string>> {
  if (own === null || paths.length === 0) return new Set()
  return new Set(
    await run(['ls-files', '-z', '--', ...paths.slice(0, 1000)], undefined, { GIT_INDEX_FILE: own.index }),
  )
}

/** Why a path cannot be kept, or null. */
function faultOf(path: string, isLarge: boolean): string | null {
  if (path.includes('\uFFFD')) return 'its name is no text'
  const stats = statOf(path)
  if (stats === null || stats.isSymbolicLink()) return null
  if (stats.isDirectory()) return 'it is a repository of its own'
  if (isLarge) return `git does not track it, and it is over ${LIMITS.undoUntrackedBytes} bytes`
  try {
    accessSync(path, constants.R_OK)
    return null
  } catch {
    return 'it cannot be read'
  }
}

/** Everything the index has, with the modes as they are now, and the folders it lies in. */
export async function knownTo(git: ShadowGit): Promise<Known> {
  const [listed, bare] = await Promise.all([
    git.run(['ls-files', '-z', '-s', ...within(git)]),
    emptyFolders(git),
  ])
  const { workTree, prefix } = git.shadow
  const files = new Map<string, KnownFile>()
  const folders = new Map<string, number>()
  const addFolders = (path: string): void => {
    for (let above = dirname(path); above !== '.' && `${above}/` !== prefix; above = dirname(above)) {
      if (folders.has(above)) return
      const stats = statOf(join(workTree, above))
      folders.set(above, stats === null ? 0o755 : stats.mode & 0o7777)
    }
  }
  for (const line of listed) {
    const path = line.slice(line.indexOf('\t') + 1)
    const type = TYPES.get(line.slice(0, 6))
    if (type === undefined || isOfKiwi(path, prefix)) continue
    const stats = statOf(join(workTree, path))
    const usual = line.startsWith('100755') ? 0o755 : 0o644
    files.set(path, { type, mode: stats?.isFile() === true ? stats.mode & 0o7777 : usual })
    addFolders(path)
  }
  for (const path of bare) addFolders(`${path}/.`)
  return { files, folders }
}

const TYPES: ReadonlyMap<string, 'file' | 'link'> = new Map([
  ['100644', 'file'],
  ['100755', 'file'],
  ['120000', 'link'],
])

/** Folders that hold nothing git would track. */
export async function emptyFolders(git: ShadowGit): Promise<readonly string[]> {
  const { workTree, prefix } = git.shadow
  const listed = await git.run(['ls-files', '-z', '-o', '--directory', '--exclude-standard', ...within(git)])
  return listed
    .filter((path) => path.endsWith('/') && path !== './' && path !== prefix && !isOfKiwi(path, prefix))
    .map((path) => path.slice(0, -1))
    .filter((path) => statOf(join(workTree, path, '.git')) === null)
}

function within({ shadow: { prefix } }: ShadowGit): readonly string[] {
  return prefix === '' ? [] : ['--', prefix]
}

/** What Kiwi itself writes during a call is not what the call changed. */
function isOfKiwi(path: string, prefix: string): boolean {
  return OWN.some((folder) => path.startsWith(prefix + folder))
}

const OWN = ['.ai/outputs/', '.ai/logs/']
