import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import { ABSENT, entryAt, isSame, unkeepable } from '../spaces/entry.ts'
import { nameOf, oddChanges } from '../spaces/oddity.ts'
import type { Entry, KeptBytes, PathChange } from '../store/undo.ts'
import type { ShadowGit } from './shadow-git.ts'
import type { Known } from './tree-standing.ts'
import { changedPaths, emptyFolders, foldersAbove, liesBelow, oddNow, withNested } from './tree-standing.ts'

export interface TreeChanges {
  readonly changes: readonly PathChange[]
  readonly bytes: readonly KeptBytes[]
  /** Paths that were changed and are not covered, each with its reason. */
  readonly skipped: readonly string[]
}

/** What is otherwise than it stood, with the bytes that stood there. `scratch` is an empty folder. */
export async function changesSince(git: ShadowGit, before: Known, scratch: string): Promise<TreeChanges> {
  const { workTree, prefix } = git.shadow
  const { paths, folders, replaced } = await pathsInQuestion(git, before)
  const odd = oddNow(git, folders)
  const isLost = await layOut(
    git,
    paths.filter((path) => before.files.has(path)),
    scratch,
  )
  const skipped = [...oddChanges(before.odd, odd)]
  const changes: PathChange[] = []
  const bytes = new Map<string, Uint8Array>()
  let room = LIMITS.undoCallBytes
  for (const path of paths) {
    try {
      const isGone = liesBelow(path, replaced, prefix)
      const fault = isGone ? null : unkeepable(join(workTree, path))
      // What cannot be kept is in the way of what stood there, which comes back once it is gone.
      const after =
        fault === null && !isGone ? entryAt(join(workTree, path), LIMITS.undoCallBytes).entry : ABSENT
      if (fault !== null && !odd.has(nameOf(path))) skipped.push(`${nameOf(path)}: ${fault}`)
      const was = stood(path, before, scratch, room)
      if (isSame(was.entry, after)) continue
      if (was.entry.kind === 'file' && was.bytes !== null && !bytes.has(was.entry.hash)) {
        bytes.set(was.entry.hash, was.bytes)
        room -= was.bytes.byteLength
      }
      changes.push({ path: join(workTree, path), before: was.entry, after })
    } catch (error) {
      skipped.push(`${nameOf(path)}: ${isLost ?? messageOf(error)}`)
    }
  }
  return { changes, bytes: Array.from(bytes, ([hash, each]) => ({ hash, bytes: each })), skipped }
}

/**
 * Files that git finds changed, those with another mode, those of a folder that something else took the place of (through
 * a link git would still see them), and every folder that is or was there.
 */
async function pathsInQuestion(
  git: ShadowGit,
  before: Known,
): Promise<{
  paths: readonly string[]
  folders: ReadonlySet<string>
  replaced: ReadonlySet<string>
}> {
  const { workTree, prefix } = git.shadow
  const [changed, untold] = await Promise.all([changedPaths(git), emptyFolders(git)])
  const bare = await withNested(git, untold)
  const paths = new Set([...changed].filter((path) => !path.endsWith('/')))
  const isFolder = (path: string): boolean => statOf(join(workTree, path))?.isDirectory() === true
  const replaced = new Set([...before.folders.keys()].filter((folder) => !isFolder(folder)))
  for (const [path, mode] of before.files) {
    if (liesBelow(path, replaced, prefix)) paths.add(path)
    const stats = mode === null || paths.has(path) ? null : statOf(join(workTree, path))
    if (stats !== null && (stats.mode & 0o7777) !== mode) paths.add(path)
  }
  const folders = new Set(before.folders.keys())
  for (const path of [...paths, ...bare.map((folder) => `${folder}/.`)])
    for (const above of foldersAbove(path, prefix)) folders.add(above)
  for (const folder of folders) paths.add(folder)
  return { paths: [...paths], folders, replaced }
}

/** Writes files out as the index has them. Says why some may be missing, or null. */
async function layOut(git: ShadowGit, paths: readonly string[], scratch: string): Promise<string | null> {
  if (paths.length === 0) return null
  const { own } = git.shadow
  // Unchanged files of a repository are only in its own store, which is read here and never written.
  const objects = own === null ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: own.objects }
  try {
    await git.run(['checkout-index', '-q', '-f', '-z', '--stdin', `--prefix=${scratch}/`], paths, objects)
    return null
  } catch (error) {
    return `its bytes from before could not be kept: ${messageOf(error)}`
  }
}

function stood(
  path: string,
  { files, folders }: Known,
  scratch: string,
  room: number,
): { entry: Entry; bytes: Uint8Array | null } {
  const mode = files.get(path)
  const folder = folders.get(path)
  if (mode === undefined)
    return { entry: folder === undefined ? ABSENT : { kind: 'folder', mode: folder }, bytes: null }
  const { entry, bytes } = entryAt(join(scratch, path), room)
  if (entry.kind === 'file') return { entry: { ...entry, mode: mode ?? entry.mode }, bytes }
  if (entry.kind === 'link') return { entry, bytes }
  throw new Error('its bytes from before could not be kept')
}
