import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import type { ItemFile } from '../store/store.ts'
import { checkBundle } from './bundle.ts'
import { leadsOutTo } from './disk.ts'
import { invalidManifest } from './manifest.ts'
import { NOT_ITEMS } from './scan.ts'

/** An item on its way to a file space. */
export interface ItemWrite {
  /** The `.ai` folder it goes to. */
  readonly root: string
  /** The folder the root may not lead out of through a link; null = the user's own, who may link as they like. */
  readonly within: string | null
  readonly id: string
  readonly category: string | null
  /** A markdown document of the knowledge folder, else a manifest. */
  readonly isDocument: boolean
  readonly text: string
  readonly files: readonly ItemFile[]
  readonly overwrite: boolean
}

/** Where an item would be written: one file, or a folder when it carries files. */
export function targetOf(write: ItemWrite): string {
  const { root, category, id, isDocument } = write
  const folder = join(root, isDocument ? 'knowledge' : 'tools', ...foldersOf(category))
  if (isDocument) return join(folder, `${id}.md`)
  return join(folder, isFolder(write) ? id : `${id}.yaml`)
}

/** One that is called `tool` is a folder too: as a file it would be the manifest of the folder it lies in. */
function isFolder({ id, isDocument, files }: ItemWrite): boolean {
  return !isDocument && (files.length > 0 || id.toLowerCase() === 'tool')
}

function foldersOf(category: string | null): readonly string[] {
  return category === null ? [] : category.split('/')
}

/** Writes an item whole or not at all, beside its place first and then into it by one rename. */
export async function writeItem(write: ItemWrite): Promise<string> {
  checkBundle(write.id, write.files)
  const target = targetOf(write)
  const beside = besideOf(target)
  try {
    await assertFindable(write)
    assertWithin(await nearest(dirname(target)), write.within)
    await mkdir(dirname(target), { recursive: true })
    assertWithin(dirname(target), write.within)
    if (isFolder(write)) {
      await mkdir(beside)
      await writeSynced(join(beside, 'tool.yaml'), write.text, false)
      for (const { path, content, isExecutable } of write.files) {
        await mkdir(dirname(join(beside, path)), { recursive: true })
        await writeSynced(join(beside, path), content, isExecutable)
      }
    } else {
      await writeSynced(beside, write.text, false)
    }
    await moveInto(beside, target, write.overwrite)
  } catch (error) {
    throw writeFailed(target, error)
  } finally {
    // What stopped us may stop this as well, and is what has to be told.
    await clearAway(beside)
  }
  return isFolder(write) ? join(target, 'tool.yaml') : target
}

/** A name of its own for every writer: scans skip what begins with a dot. */
function besideOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`)
}

/**
 * Removes the item at this path. It leaves its place in one step, so no reader meets half of it; what then stands
 * against clearing it away is told, and changes nothing about its being gone.
 */
export async function removeItem(path: string, within: string | null): Promise<readonly string[]> {
  const target = basename(path) === 'tool.yaml' ? dirname(path) : path
  const beside = besideOf(target)
  try {
    assertWithin(dirname(target), within)
    await rename(target, beside)
  } catch (error) {
    throw writeFailed(target, error)
  }
  return clearAway(beside)
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

async function writeSynced(path: string, content: string | Uint8Array, isExecutable: boolean): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = await open(path, flags, isExecutable ? 0o755 : 0o644)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Without leave to overwrite, what stands there is never replaced, whoever put it there in the meantime. */
async function moveInto(beside: string, target: string, overwrite: boolean): Promise<void> {
  const isDirectory = (await stat(beside)).isDirectory()
  if (!isDirectory) return overwrite ? rename(beside, target) : link(beside, target)
  const there = await stat(target).catch(() => null)
  if (there === null) return rename(beside, target)
  // A folder without a manifest is a category: everything in it would go.
  if (!overwrite || !(await isThere(join(target, 'tool.yaml')))) throw somethingThere(target)
  const aside = `${beside}.old`
  await rename(target, aside)
  try {
    await rename(beside, target)
  } catch (error) {
    await rename(aside, target)
    throw error
  }
  // The new one is in its place: what stays of the old is hidden, and no reason to say that nothing was written.
  await clearAway(aside)
}

/** In a library, or in the folder of another item, it would be written and never found. */
async function assertFindable(write: ItemWrite): Promise<void> {
  const { root, category, id, isDocument } = write
  if (isDocument) return
  const folders = foldersOf(category)
  const lost = [...folders, ...(isFolder(write) ? [id] : [])].find((name) => NOT_ITEMS.has(name))
  if (lost !== undefined) {
    const reason = `nothing in a folder named "${lost}" is ever an item`
    throw invalidManifest(id, [{ name: folders.includes(lost) ? 'category' : 'tool_id', reason }])
  }
  for (const at of folders.keys()) {
    const folder = join(root, 'tools', ...folders.slice(0, at + 1))
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
