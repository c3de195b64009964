import type { FSWatcher } from 'node:fs'
import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, messageOf } from '../shared/errors.ts'
import { list } from './disk.ts'
import { DEEPEST } from './folder-files.ts'

/** The system's own word for whether something in a space may have changed. */
export interface Watch {
  /** Every folder is watched, and nothing was reported since `begin`. */
  readonly isQuiet: boolean
  /** Watches these and all below them. The files are to be looked at after it, so that no change falls between. */
  begin(folders: readonly string[]): void
  /** Resolves when everything that happened before was reported. */
  reported(): Promise<void>
  close(): void
}

/** Folders of one space that are watched; the system has few watches, and they are shared. */
const MOST_FOLDERS = 4000

/**
 * One watch for each folder: Node's recursive watch takes one for each file on Linux, and no longer sees a file that
 * an editor replaced by another.
 * `names` are those of the root that count.
 */
export function openWatch(
  root: string,
  names: ReadonlySet<string>,
  onFault: (reason: string) => void,
): Watch {
  let watchers: FSWatcher[] = []
  let state: 'blind' | 'quiet' | 'edited' | 'moved' | 'off' = 'blind'

  const stop = (): void => {
    for (const watcher of watchers) watcher.close()
    watchers = []
  }
  const fail = (error: unknown): void => {
    if (state === 'off') return
    // A folder that went away meanwhile is met again, or not, by the next look.
    const isGone = errnoOf(error) === 'ENOENT'
    state = isGone ? 'blind' : 'off'
    stop()
    if (!isGone) onFault(messageOf(error))
  }
  const add = (folder: string, isMeant: (name: string | null) => boolean): void => {
    const watcher = watch(folder, { persistent: false }, (event, name) => {
      if (state === 'off' || state === 'blind' || !isMeant(name)) return
      if (event === 'rename') state = 'moved'
      else if (state === 'quiet') state = 'edited'
    })
    watcher.on('error', fail)
    watchers.push(watcher)
  }

  return {
    get isQuiet() {
      return state === 'quiet'
    },
    begin(folders) {
      if (state === 'off') return
      // What was renamed may be a folder: the watch of one that is gone stays silent even when the name is back.
      const isSame = state === 'quiet' || state === 'edited'
      state = 'quiet'
      if (isSame) return
      stop()
      try {
        // Kiwi's own store lies in the root and never rests.
        add(root, (name) => name === null || names.has(name))
        for (const folder of foldersBelow(folders)) add(folder, () => true)
      } catch (error) {
        fail(error)
      }
    },
    async reported() {
      // The first turn may be one that has asked the system already.
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
    close() {
      state = 'off'
      stop()
    },
  }
}

function foldersBelow(roots: readonly string[]): readonly string[] {
  const found: string[] = []
  const walk = (folder: string, depth: number): void => {
    if (found.length >= MOST_FOLDERS) throw new Error(`there are more than ${MOST_FOLDERS} folders`)
    found.push(folder)
    if (depth >= 2 * DEEPEST) return
    for (const entry of list(folder)) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) walk(join(folder, entry.name), depth + 1)
    }
  }
  for (const folder of roots) if (existsSync(folder)) walk(folder, 0)
  return found
}
