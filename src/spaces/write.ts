import { constants, linkSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import type { ItemFile } from '../store/store.ts'
import { besideOf, lastAside, standsBeside } from './beside.ts'
import { checkBundle } from './bundle.ts'
import { leadsOutTo, statOf } from './disk.ts'
import { invalidManifest } from './manifest.ts'
import { NOT_ITEMS, stampAt } from './scan.ts'

/** An item on its way to a file space. */
export interface ItemWrite {
  readonly id: string
  /** The `.ai` folder it goes to. */
  readonly root: string
  /** The folder the root may not lead out of through a link; null = the user's own, who may link as they like. */
  readonly within: string | null
  /** From the root to the file or folder it will be, such as `tools/web/greet.yaml`. */
  readonly path: string
  readonly isFolder: boolean
  /** The file it is read from, by its name in the folder. */
  readonly manifest: ItemFile
  readonly files: readonly ItemFile[]
  /** What may stand there now: nothing, any item, or only what has this stamp. */
  readonly replaces: 'nothing' | 'any' | { readonly stamp: string | null }
  /** A file of a library: it is no item, and need not be found as one. */
  readonly isLibrary?: boolean
}

/** Runs something at once, while no other process that shares the store can do the same. */
type Exclusively = <T>(work: () => T) => Promise<T>

/** Where an item would be written: a file, or a folder. */
export function targetOf({ root, path }: ItemWrite): string {
  return join(root, path)
}

/**
 * Writes an item whole or not at all: beside its place first, and then into it. Whoever is killed at any point, and
 * whoever looks at any point, finds the old item or the new one.
 */
export async function writeItem(write: ItemWrite, exclusively: Exclusively): Promise<string> {
  checkBundle(write.id, write.files)
  const target = targetOf(write)
  const folder = dirname(target)
  const beside = besideOf(target, 'tmp')
  try {
    if (write.isLibrary !== true) await assertFindable(write)
    assertWithin(await nearest(folder), write.within)
    const made = await mkdir(folder, { recursive: true })
    assertWithin(folder, write.within)
    await stage(write, beside)
    const replaced = await exclusively(() => moveInto(beside, write))
    await syncFolders(folder, made === undefined ? folder : dirname(made))
    for (const path of replaced) await clearAway(path)
  } catch (error) {
    throw writeFailed(target, error)
  } finally {
    // What stopped us may stop this as well, and is what has to be told.
    await clearAway(beside)
  }
  await clearAbandoned(target)
  return write.isFolder ? join(target, write.manifest.path) : target
}

/** One file of an item, to be given another text. */
interface FileChange {
  readonly path: string
  readonly within: string | null
  /** What must still stand there: nobody's change is lost. */
  readonly before: string
  readonly text: string
}

/** Puts another text into a file, whole or not at all; its mode stays. */
export async function rewriteFile(
  { path, within, before, text }: FileChange,
  exclusively: Exclusively,
): Promise<void> {
  const beside = besideOf(path, 'tmp')
  try {
    assertWithin(dirname(path), within)
    const { mode } = await lstat(path)
    await writeSynced(beside, { path, content: Buffer.from(text), isExecutable: false })
    await chmod(beside, mode)
    await exclusively(() => {
      if (!readFileSync(path).equals(Buffer.from(before))) {
        throw new KiwiError('CONFLICT', `Cannot write "${path}": it was changed meanwhile`, {
          hint: 'Send the call again',
        })
      }
      renameSync(beside, path)
    })
    await syncFolder(dirname(path))
  } catch (error) {
    throw writeFailed(path, error)
  } finally {
    await clearAway(beside)
  }
}

/**
 * Removes the item at this path; of a folder it is that of its manifest, and everything in it goes. It leaves its place
 * in one step, so no reader meets half of it; what then stands against clearing it away is told, and changes nothing
 * about its being gone.
 */
export async function removeItem(
  path: string,
  isFolder: boolean,
  within: string | null,
): Promise<readonly string[]> {
  const target = isFolder ? dirname(path) : path
  const beside = besideOf(target, 'tmp')
  try {
    assertWithin(dirname(target), within)
    await rename(target, beside)
    await syncFolder(dirname(target))
  } catch (error) {
    throw writeFailed(target, error)
  }
  return clearAway(beside)
}

/** Removes a folder that holds nothing; one that does stays. */
export async function removeEmptyFolder(path: string): Promise<void> {
  try {
    await rmdir(path)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(errnoOf(error))) throw writeFailed(path, error)
  }
}

async function stage({ isFolder, manifest, files }: ItemWrite, beside: string): Promise<void> {
  if (!isFolder) return writeSynced(beside, manifest)
  await mkdir(beside)
  const folders = new Set([beside])
  for (const file of [manifest, ...files]) {
    const path = join(beside, file.path)
    await mkdir(dirname(path), { recursive: true })
    await writeSynced(path, file)
    for (let above = dirname(path); above !== beside; above = dirname(above)) folders.add(above)
  }
  for (const folder of folders) await syncFolder(folder)
}

async function writeSynced(path: string, { content, isExecutable }: ItemFile): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = await open(path, flags, isExecutable ? 0o755 : 0o644)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * The step that counts. A file takes the place of another in one rename. A folder cannot, so the one that was there
 * goes aside under a name by which every scan still finds it while its place is empty. Returns what is to be cleared
 * away: out of the sight of scans already, for half of it must never be taken for the item.
 */
function moveInto(beside: string, write: ItemWrite): readonly string[] {
  const target = targetOf(write)
  if (write.isFolder) putBack(target)
  assertReplaceable(write, target)
  if (!write.isFolder) {
    if (write.replaces === 'nothing') linkSync(beside, target)
    else renameSync(beside, target)
    return []
  }
  const old = statOf(target) === null ? null : besideOf(target, 'old')
  if (old !== null) renameSync(target, old)
  try {
    renameSync(beside, target)
  } catch (error) {
    if (old !== null) renameSync(old, target)
    throw error
  }
  return asidesOf(target).map((aside) => {
    const gone = besideOf(target, 'tmp')
    renameSync(aside, gone)
    return gone
  })
}

/** Somebody was killed between the two steps: what they moved aside is what is there. */
function putBack(target: string): void {
  if (statOf(target) !== null) return
  const folder = dirname(target)
  const aside = lastAside(folder, basename(target), readdirSync(folder))
  if (aside !== null) renameSync(join(folder, aside), target)
}

function asidesOf(target: string): readonly string[] {
  return readdirSync(dirname(target))
    .filter((name) => {
      const beside = standsBeside(name)
      return beside?.isOld === true && beside.name === basename(target)
    })
    .map((name) => join(dirname(target), name))
}

function assertReplaceable({ replaces, isFolder, manifest }: ItemWrite, target: string): void {
  if (replaces === 'nothing') {
    // Exclusive for a file by the link that makes it; a folder would silently take the place of an empty one.
    if (isFolder && statOf(target) !== null) throw somethingThere(target)
    return
  }
  // A folder without a manifest is a category: everything in it would go.
  const path = isFolder ? join(target, manifest.path) : target
  if (isFolder && statOf(target) !== null && statOf(path) === null) throw somethingThere(target)
  if (replaces === 'any') return
  if (stampAt({ path, kind: isFolder ? 'folder' : 'manifest', beside: [] }) === replaces.stamp) return
  throw new KiwiError('CONFLICT', `Cannot write "${target}": it was changed meanwhile`, {
    hint: 'Load it again, and send the change for what is there now',
    retryable: true,
    details: { path: target },
  })
}

/** What others left beside this target when they were killed. */
async function clearAbandoned(target: string): Promise<void> {
  const folder = dirname(target)
  for (const name of await readdir(folder).catch(() => [])) {
    const beside = standsBeside(name)
    if (beside === null || beside.isOld || beside.name !== basename(target)) continue
    if (await isAbandoned(join(folder, name))) await clearAway(join(folder, name))
  }
}

const ABANDONED_MS = 3_600_000

/** Nobody takes that long to write an item. */
function isAbandoned(path: string): Promise<boolean> {
  return lstat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > ABANDONED_MS,
    () => false,
  )
}

/** A warning when something of it stays: hidden from every scan, but there. */
async function clearAway(path: string): Promise<readonly string[]> {
  try {
    await rm(path, { recursive: true, force: true })
    return []
  } catch (error) {
    return [`its remains at "${path}" could not be cleared away: ${messageOf(error)}`]
  }
}

/** From this folder up to that one: a name is on disk when the folder that holds it is. */
async function syncFolders(folder: string, upTo: string): Promise<void> {
  await syncFolder(folder)
  if (folder !== upTo && folder !== dirname(folder)) await syncFolders(dirname(folder), upTo)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } catch (error) {
    // Some file systems sync no folders, and need not.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(errnoOf(error))) throw error
  } finally {
    await handle.close()
  }
}

/** In a library, or in the folder of another item, it would be written and never found. */
async function assertFindable({ id, root, path, isFolder }: ItemWrite): Promise<void> {
  const [type, ...parts] = path.split('/')
  if (type !== 'tools') return
  const folders = isFolder ? parts : parts.slice(0, -1)
  const lost = folders.findIndex((name) => NOT_ITEMS.has(name))
  if (lost >= 0) {
    const reason = `nothing in a folder named "${folders[lost]}" is ever an item`
    throw invalidManifest(id, [{ name: lost < parts.length - 1 ? 'category' : 'tool_id', reason }])
  }
  for (const at of parts.slice(0, -1).keys()) {
    const folder = join(root, type, ...parts.slice(0, at + 1))
    if (await isThere(join(folder, 'tool.yaml'))) throw somethingThere(folder)
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** The folder itself, or the first above it that is already there. */
async function nearest(folder: string): Promise<string> {
  return (await isThere(folder)) ? folder : nearest(dirname(folder))
}

function assertWithin(folder: string, within: string | null): void {
  const real = within === null ? null : leadsOutTo(folder, within)
  if (real === null) return
  throw new KiwiError(
    'PERMISSION_DENIED',
    `Cannot write to "${folder}": a link leads out of the project to "${real}"`,
    {
      hint: 'Replace the link by a folder, or create the item with location "user"',
      details: { layer: 'machine', rule: 'inside-project', op: 'write', resource: real },
    },
  )
}

function writeFailed(target: string, error: unknown): unknown {
  if (error instanceof KiwiError) return error
  const code = errnoOf(error)
  if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'EISDIR'].includes(code)) return somethingThere(target, error)
  if (code === 'ENOENT')
    return new KiwiError('NOT_FOUND', `Cannot change "${target}": it is gone`, { cause: error })
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new KiwiError('STORE_FULL', `Cannot write "${target}": the disk is full`, { cause: error })
  }
  return new KiwiError('STORE_UNAVAILABLE', `Cannot write "${target}": ${messageOf(error)}`, {
    hint: 'Make the folder writable, or create the item with another location',
    details: { path: target },
    cause: error,
  })
}

function somethingThere(path: string, cause?: unknown): KiwiError {
  return new KiwiError('CONFLICT', `Cannot write "${path}": something else is already there`, {
    details: { path },
    cause,
  })
}
