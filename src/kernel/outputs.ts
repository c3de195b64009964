import { randomUUID } from 'node:crypto'
import { closeSync, constants, fstatSync, ftruncateSync, linkSync, openSync, readdirSync } from 'node:fs'
import { renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { OutputSettings } from '../config/config.ts'
import type { Clock } from '../shared/clock.ts'
import { errnoOf, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { makeFolder } from '../shared/make-folder.ts'
import { textOf } from '../shared/template.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'
import { foldersTo } from '../spaces/harness.ts'

/** The results of runs as files, the newest of each tool. */
export interface Outputs {
  /** Begun together with the run, so that what can be done while it runs takes no time of its own. */
  begin(toolId: string, projectPath: string | null): PendingOutput
  /** Leaves no more than is kept, whoever else saved there. */
  close(): void
}

interface PendingOutput {
  /**
   * Saves the record of the run; a warning says that it could not be saved. Where that went well before, it is made and
   * written a moment later, so that no reply waits for the disk; what then fails is told with the next one.
   */
  save(record: () => JsonObject): Promise<readonly string[]>
}

interface OutputMeans {
  readonly settings: OutputSettings
  readonly userSpace: string
  readonly clock: Clock
}

export function openOutputs({ settings: { keep, minBytes }, userSpace, clock }: OutputMeans): Outputs {
  const isWanted = ({ output = null }: JsonObject): boolean =>
    keep > 0 && (minBytes === 0 || Buffer.byteLength(textOf(output)) >= minBytes)
  /** What lies in a folder, as it was a moment ago: to list it at every run would be most of the work. */
  const known = new Map<string, Listed>()
  const listed = (folder: string): Saved[] => {
    const before = known.get(folder)
    if (before !== undefined && clock.now() - before.at < LISTED_MS) return before.saved
    before?.end()
    const own = new Map(before?.saved.map(({ name, inode }) => [name, inode]))
    const saved = savedAmong(namesIn(folder)).map((one) => ({ ...one, inode: own.get(one.name) ?? null }))
    // Other processes may save here too, and what is more than is kept goes a little later.
    const timer = setTimeout(() => trim(folder), LISTED_MS).unref()
    known.set(folder, { saved, at: clock.now(), end: () => clearTimeout(timer) })
    return saved
  }
  const trim = (folder: string): void => {
    known.get(folder)?.end()
    known.delete(folder)
    try {
      inPlace.assert(folder)
      dropSurplus(folder, { keep, now: clock.now() })
    } catch {
      // What is too much now is so at the next run too, and goes then.
    }
  }
  const inPlace = createInPlace()
  /** Looked for while the program runs, and believed as long as a list is. */
  const places = new Map<string, { readonly at: number; readonly folders: Promise<readonly string[]> }>()
  const placesOf = (toolId: string, projectPath: string | null): Promise<readonly string[]> => {
    const key = `${projectPath ?? ''}\n${toolId}`
    const before = places.get(key)
    if (before !== undefined && clock.now() - before.at < LISTED_MS) return before.folders
    const folders = turn().then(() => inPlace.keep(foldersOf(toolId, projectPath, userSpace), projectPath))
    if (places.size >= MOST_PLACES) places.clear()
    places.set(key, { at: clock.now(), folders })
    return folders
  }
  /** Where the last save went well. */
  const sound = new Set<string>()
  const saveNow = (record: JsonObject, folders: readonly string[]): readonly string[] => {
    let reason = ''
    for (const folder of isWanted(record) ? folders : []) {
      try {
        // What has just run may have laid a link since the place was found.
        inPlace.assert(folder)
        saveIn(folder, JSON.stringify(record), listed(folder), { keep, now: clock.now() })
        sound.add(folder)
        return []
      } catch (error) {
        sound.delete(folder)
        reason = messageOf(error)
      }
    }
    return reason === '' ? [] : [`the output could not be saved: ${reason}`]
  }
  const later = createLater(keep)
  return {
    begin(toolId, projectPath) {
      const finding = placesOf(toolId, projectPath)
      return {
        async save(record) {
          const folders = await finding
          const [first] = folders
          if (first === undefined || !sound.has(first)) return saveNow(record(), folders)
          later.add(first, () => saveNow(record(), folders))
          return []
        },
      }
    },
    close() {
      later.finish()
      for (const folder of known.keys()) trim(folder)
    },
  }
}

/** What is written a moment later, in its order. Of each folder only as many wait as are kept: those before would be gone at once. */
function createLater(keep: number): { add(folder: string, write: () => void): void; finish(): void } {
  const waiting = new Map<string, (() => void)[]>()
  let timer: NodeJS.Timeout | null = null
  const finish = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const folders = [...waiting.values()]
    waiting.clear()
    for (const writes of folders) for (const write of writes) write()
  }
  return {
    add(folder, write) {
      const writes = waiting.get(folder) ?? []
      waiting.set(folder, writes)
      writes.push(write)
      if (writes.length > keep) writes.shift()
      timer ??= setTimeout(finish, PAUSE_MS).unref()
      if (waiting.size >= MOST_WAITING || writes.length >= MOST_WAITING) finish()
    },
    finish,
  }
}

/** Nobody reads the result of a run from its file as soon as that. */
const PAUSE_MS = 100
/** What waits holds on to whole results. */
const MOST_WAITING = 16

interface Listed {
  /** Oldest first; what this process saves is added. */
  readonly saved: Saved[]
  readonly at: number
  readonly end: () => void
}

/** How long a list of a folder is believed. */
const LISTED_MS = 1000

const MOST_PLACES = 1000

/** Where the results of a tool may go: to the project if it has a folder of its own, else to the person. */
function foldersOf(toolId: string, projectPath: string | null, userSpace: string): readonly string[] {
  const own = join(userSpace, 'outputs/tools', toolId)
  if (projectPath === null) return [own]
  const space = join(projectPath, '.ai')
  const folder = join(space, 'outputs/tools', toolId)
  try {
    if (statOf(space) === null) return [own]
    assertWithin(folder, projectPath)
    return [folder, own]
  } catch {
    return [own]
  }
}

/** Folders that lie in a project, each with it: what runs there may lay a link in their place at any time. */
function createInPlace(): {
  keep(folders: readonly string[], project: string | null): readonly string[]
  assert(folder: string): void
} {
  const projects = new Map<string, string>()
  return {
    keep(folders, project) {
      const inside = project === null ? [] : folders.filter((folder) => folder.startsWith(`${project}/`))
      for (const folder of inside) projects.set(folder, project ?? '')
      return folders
    },
    assert(folder) {
      const project = projects.get(folder)
      if (project !== undefined) assertWithin(folder, project)
    },
  }
}

/** As much of a path as is there leads to no other place than it says. */
function assertWithin(folder: string, project: string): void {
  const nearest = foldersTo(folder).findLast((at) => statOf(at) !== null) ?? folder
  const outside = leadsOutTo(nearest, project)
  if (outside !== null) throw new Error(`a link leads out of the project to "${outside}"`)
}

interface Bounds {
  readonly keep: number
  readonly now: number
}

/**
 * Written beside its place first, hidden, so that nobody reads half of it. Without a pause: it is little work.
 */
function saveIn(folder: string, text: string, saved: Saved[], { keep, now }: Bounds): void {
  const beside = join(folder, `.${randomUUID()}.tmp`)
  const before = [...saved]
  const surplus = saved.splice(0, Math.max(0, saved.length - keep + 1))
  const oldest = surplus.at(-1)
  try {
    // The file that goes is written anew if it is our own: to make one takes many times as long.
    const reused = reuse(folder, oldest, beside, text)
    if (reused !== null) surplus.pop()
    const inode = reused ?? writeFresh(beside, text)
    saved.push({ inode, ...place(beside, folder, stampOf(now), before) })
  } finally {
    drop(beside)
  }
  for (const { name } of surplus) rmSync(join(folder, name), { force: true })
}

const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
/** Neither through a link nor into a pipe, where it would wait for a reader. */
const THERE = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Null when it is not, or no longer, the file this process made, or somebody holds on to what is in it. */
function reuse(folder: string, oldest: Saved | undefined, beside: string, text: string): number | null {
  if (oldest === undefined || oldest.inode === null) return null
  const path = join(folder, oldest.name)
  try {
    return inFile(path, THERE, (file) => {
      const { ino, nlink, size } = fstatSync(file)
      if (ino !== oldest.inode || nlink > 1) return null
      renameSync(path, beside)
      writeFileSync(file, text)
      if (size > Buffer.byteLength(text)) ftruncateSync(file, Buffer.byteLength(text))
      return ino
    })
  } catch {
    drop(beside)
    return null
  }
}

/** Its inode, by which it is known again. */
function writeFresh(path: string, text: string): number {
  return inFile(path, FRESH, (file) => {
    writeFileSync(file, text)
    return fstatSync(file).ino
  })
}

function inFile<T>(path: string, flags: number, work: (file: number) => T): T {
  const file = openSync(path, flags, 0o600)
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

/** Whether or not it is there: in half the time that `rmSync` takes. */
function drop(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // What cannot be dropped now goes with what is left over.
  }
}

/** The oldest that are more than are kept, and what a process that was killed has left beside them. */
function dropSurplus(folder: string, { keep, now }: Bounds): void {
  const names = namesIn(folder)
  for (const { name } of savedAmong(names).slice(0, -keep)) rmSync(join(folder, name), { force: true })
  dropLeftOver(folder, names, now)
}

/** Of plain files: nothing else was put there by us. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []))
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    makeFolder(folder, 0o700)
    hideFromGit(join(folder, '../..'))
    return []
  }
}

/** Results are nobody's sources. */
function hideFromGit(root: string): void {
  try {
    writeFileSync(join(root, '.gitignore'), '*\n', { flag: 'wx' })
  } catch {
    // It is there already, or cannot be written: then the results can hardly be either.
  }
}

/** `20260128_123456`, in UTC. */
function stampOf(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')
}

/** Under a number after all that are there: one that is free again would make the newest the oldest. */
function place(beside: string, folder: string, stamp: string, saved: readonly Saved[]): Omit<Saved, 'inode'> {
  const last = saved.findLast((one) => one.stamp === stamp)?.number ?? 0
  for (let number = last + 1; ; number++) {
    const name = `output_${stamp}${number === 1 ? '' : `_${number}`}.json`
    try {
      linkSync(beside, join(folder, name))
      return { name, stamp, number }
    } catch (error) {
      // Another process took the number.
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}

interface Saved {
  readonly name: string
  readonly stamp: string
  readonly number: number
  /** Of a file that this process made; null of all others. */
  readonly inode: number | null
}

const SAVED = /^output_(\d{8}_\d{6})(?:_(\d+))?\.json$/

/** Oldest first. What has another name was not put there by us. */
function savedAmong(names: readonly string[]): Saved[] {
  return names
    .flatMap((name): readonly Saved[] => {
      const [, stamp, number = '1'] = SAVED.exec(name) ?? []
      return stamp === undefined ? [] : [{ name, stamp, number: Number(number), inode: null }]
    })
    .toSorted((a, b) => (a.stamp === b.stamp ? a.number - b.number : a.stamp < b.stamp ? -1 : 1))
}

const DAY_MS = 24 * 60 * 60 * 1000

/** What a process that was killed has left beside the results. */
function dropLeftOver(folder: string, names: readonly string[], now: number): void {
  for (const name of names.filter((each) => /^\.[0-9a-f-]{36}\.tmp$/.test(each))) {
    const path = join(folder, name)
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - modified > DAY_MS) rmSync(path, { force: true })
  }
}
