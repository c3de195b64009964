import { lstatSync, lutimesSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../shared/clock.ts'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { makeFolder } from '../shared/make-folder.ts'
import { runnableFiles } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'
import { dropOldest, isFolder, removeFolder } from './drop-oldest.ts'
import type { Bundle } from './files-as-read.ts'
import { filesAsRead } from './files-as-read.ts'

/** Folders in which the files of items lie while they run: named by content, written once, read-only. */
export interface WorkFolders {
  /** Where the files are expected to lie, in `root` when it is given. Touches nothing. */
  place(bundle: Bundle, root?: string): string
  /** Puts the files there unless they already lie there unchanged, and says where that is. */
  prepare(bundle: Bundle, root?: string): Promise<string>
  close(): Promise<void>
}

/** How long a look at a folder holds, and how often its time of use is renewed. */
const DAY_MS = 24 * 60 * 60 * 1000

export function openWorkFolders(cache: string, clock: Clock): WorkFolders {
  const lasting = join(cache, 'work')
  let root = lasting
  /** Used when the cache cannot be written; gone with this process. */
  let fallback: Promise<string> | null = null
  const checked = new Map<string, { readonly at: number; readonly marks: Marks }>()
  let dropping: Promise<void> | null = null
  const place = ({ contentHash: hash }: Bundle, within = root): string => join(within, hash)

  /** Whether the files lie there; if so, what they look like is kept for the next run. */
  const isReady = (folder: string, files: readonly ItemFile[]): boolean => {
    const at = clock.now()
    renewUse(folder, at)
    // Before the files are read: what changes while they are is seen by the next run.
    const marks = marksOf(folder, files)
    if (!isAsWritten(folder, files)) return false
    checked.set(folder, { at, marks })
    return true
  }

  const isStillReady = async (folder: string): Promise<boolean> => {
    const known = checked.get(folder)
    return known !== undefined && clock.now() - known.at < DAY_MS && (await isUnchanged(known.marks))
  }

  /** Behind the call that made a folder more; a surplus that stays does no harm. */
  const dropSurplus = (within: string): void => {
    dropping ??= dropOldest(within, clock.now())
      .catch(() => {})
      .finally(() => (dropping = null))
  }

  const write = async (bundle: Bundle, files: readonly ItemFile[], within?: string): Promise<string> => {
    const folder = place(bundle, within)
    try {
      await writeFolder(folder, files)
      return folder
    } catch (error) {
      if (within !== undefined || !folder.startsWith(lasting)) throw cannotPrepare(folder, error)
    }
    // Several calls may fail at once; they share one folder.
    fallback ??= mkdtemp(join(tmpdir(), 'kiwi-work-'))
    root = await fallback.catch((error: unknown) => {
      throw cannotPrepare(folder, error)
    })
    return write(bundle, files)
  }

  return {
    place,
    async prepare(item, within) {
      const folder = place(item, within)
      if (await isStillReady(folder)) return folder
      const files = runnableFiles(item.raw, await filesAsRead(item))
      if (isReady(folder, files)) return folder
      const written = await write(item, files, within)
      isReady(written, files)
      dropSurplus(within ?? lasting)
      return written
    },
    async close() {
      await dropping
      const made = await fallback?.catch(() => null)
      if (typeof made === 'string') await removeFolder(made)
    },
  }
}

/** Path to what changes with every change of it: a tool runs with our rights and may write where another's files lie. */
type Marks = readonly (readonly [string, string])[]

/** Of the files and of every folder among them. */
function marksOf(folder: string, files: readonly ItemFile[]): Marks {
  const paths = new Set([folder])
  for (const { path } of files) {
    for (let at = join(folder, path); !paths.has(at); at = dirname(at)) paths.add(at)
  }
  return [...paths].map((path) => [path, markOf(path)] as const)
}

function markOf(path: string): string {
  try {
    const { ino, size, ctimeMs } = lstatSync(path)
    return `${ino} ${size} ${ctimeMs}`
  } catch {
    return ''
  }
}

/** Files that are looked at before others get a turn. */
const AT_ONCE = 100

/** A file more or less is a change of its folder, so nothing has to be listed. */
async function isUnchanged(marks: Marks): Promise<boolean> {
  for (const [at, [path, mark]] of marks.entries()) {
    if (markOf(path) !== mark) return false
    if (at % AT_ONCE === AT_ONCE - 1) await setImmediate()
  }
  return true
}

/** Not at every look: a new time is a change that other processes would have to look into. */
export function renewUse(folder: string, now: number): void {
  try {
    if (now - lstatSync(folder).mtimeMs > DAY_MS) lutimesSync(folder, now / 1000, now / 1000)
  } catch {
    // What is not there is written, and what cannot be renewed cannot be dropped either.
  }
}

/**
 * Whether what lies there is what was put there, and nothing else: a file more could be loaded in place of a
 * library. All of it is read, so this is done once in the life of a process, and when a mark has changed.
 */
function isAsWritten(folder: string, files: readonly ItemFile[]): boolean {
  const wanted = new Map(files.map((file) => [join(folder, file.path), file]))
  try {
    return isFolder(folder) && isFilledWith(folder, wanted) && wanted.size === 0
  } catch {
    return false
  }
}

/** Takes what it finds out of `wanted`; false as soon as something is there that is not wanted so. */
function isFilledWith(folder: string, wanted: Map<string, ItemFile>): boolean {
  return readdirSync(folder, { withFileTypes: true }).every((entry) => {
    const at = join(folder, entry.name)
    if (entry.isDirectory()) return isFilledWith(at, wanted)
    const file = wanted.get(at)
    wanted.delete(at)
    if (file === undefined || !entry.isFile()) return false
    const { size, mode } = statSync(at)
    const isExecutable = (mode & 0o100) !== 0
    return (
      isExecutable === file.isExecutable &&
      size === file.content.length &&
      readFileSync(at).equals(file.content)
    )
  })
}

/** Another process may put the same folder there at the same time: then its folder is used, and ours dropped. */
async function writeFolder(folder: string, files: readonly ItemFile[]): Promise<void> {
  makeFolder(dirname(folder), 0o700)
  const beside = await mkdtemp(`${folder}.`)
  try {
    for (const { path, content, isExecutable } of files) {
      const at = join(beside, path)
      await mkdir(dirname(at), { recursive: true })
      await writeFile(at, content, { mode: isExecutable ? 0o555 : 0o444 })
    }
    const isThere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined
    if (isThere && !isAsWritten(folder, files)) await rename(folder, `${beside}.old`)
    await rename(beside, folder)
    await closeFolder(folder)
  } catch (error) {
    if (!isAsWritten(folder, files)) throw error
  } finally {
    await Promise.all([removeFolder(beside), removeFolder(`${beside}.old`)])
  }
}

async function closeFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await closeFolder(join(folder, entry.name))
  }
  await chmod(folder, 0o555)
}

function cannotPrepare(folder: string, error: unknown): KiwiError {
  const isFull = errnoOf(error) === 'ENOSPC'
  return new KiwiError(
    isFull ? 'STORE_FULL' : 'STORE_UNAVAILABLE',
    `Cannot write "${folder}": ${messageOf(error)}`,
    {
      cause: error,
    },
  )
}
