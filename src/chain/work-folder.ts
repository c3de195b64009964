import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'

/** Folders in which the files of items lie while they run: named by content, written once, read-only. */
export interface WorkFolders {
  /** Where the files of an item are expected to lie. Touches nothing. */
  place(item: Item): string
  /** Puts the files there unless they already lie there unchanged, and says where that is. */
  prepare(item: Item): Promise<string>
  close(): Promise<void>
}

export function openWorkFolders(cache: string): WorkFolders {
  const lasting = join(cache, 'work')
  let root = lasting
  /** Used when the cache cannot be written; gone with this process. */
  let fallback: Promise<string> | null = null
  const checked = new Set<string>()
  const place = ({ contentHash: hash }: Item): string => join(root, hash)

  const write = async (item: Item, files: readonly ItemFile[]): Promise<string> => {
    const folder = place(item)
    try {
      await writeFolder(folder, files)
      return folder
    } catch (error) {
      if (!folder.startsWith(lasting)) throw cannotPrepare(folder, error)
    }
    // Several calls may fail at once; they share one folder.
    fallback ??= mkdtemp(join(tmpdir(), 'kiwi-work-'))
    root = await fallback.catch((error: unknown) => {
      throw cannotPrepare(folder, error)
    })
    return write(item, files)
  }

  return {
    place,
    async prepare(item) {
      const folder = place(item)
      if (checked.has(folder) && existsSync(folder)) return folder
      const files = await item.files()
      if (contentHash(item.raw, files) !== item.contentHash) {
        throw new KiwiError(
          'CONFLICT',
          `Cannot run "${item.id}": its files changed while it was being read`,
          {
            hint: 'Send the call again',
          },
        )
      }
      const prepared = isAsWritten(folder, files) ? folder : await write(item, files)
      checked.add(prepared)
      return prepared
    },
    async close() {
      const made = await fallback?.catch(() => null)
      if (typeof made === 'string') await removeFolder(made)
    },
  }
}

/**
 * Whether what lies there is what was put there, and nothing else: a file more could be loaded in place of a
 * library. Looked at once in the life of a process.
 */
function isAsWritten(folder: string, files: readonly ItemFile[]): boolean {
  const wanted = new Map(files.map((file) => [join(folder, file.path), file]))
  try {
    return isFolder(folder) && isFilledWith(folder, wanted) && wanted.size === 0
  } catch {
    return false
  }
}

/** A link to a folder is none: it leads wherever it is pointed. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
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
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
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

/** Folders were made read-only, and nothing can be taken out of a read-only folder. */
async function removeFolder(folder: string): Promise<void> {
  if (isFolder(folder)) {
    await chmod(folder, 0o755)
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeFolder(join(folder, entry.name))
    }
  }
  await rm(folder, { recursive: true, force: true })
}

function cannotPrepare(folder: string, error: unknown): KiwiError {
  const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  return new KiwiError(
    isFull ? 'STORE_FULL' : 'STORE_UNAVAILABLE',
    `Cannot write "${folder}": ${messageOf(error)}`,
    {
      cause: error,
    },
  )
}
