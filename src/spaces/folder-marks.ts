import { dirname } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { statBehind } from './disk.ts'

/** What folders looked like when they were listed: a name more or less in one changes its time. */
interface FolderMarks {
  /** Forgets all, for a new look. */
  begin(): void
  /** To be called before the folder is listed, so that no change falls between. */
  readonly add: (folder: string) => void
  /** Costs a few microseconds for each folder; of many folders it may be true for a moment too long. */
  areUnchanged(): boolean
}

/** A system keeps times in ticks: what changes in the same tick as a look has the time that was seen. */
const TICK_MS = 20
/** Folders that are asked at every call, and how often more of them are. */
const FEW = 64
const MANY_MS = 100

export function openFolderMarks(clock: Clock): FolderMarks {
  const marks = new Map<string, Mark>()
  let askedAt = -Infinity
  return {
    begin() {
      marks.clear()
      askedAt = clock.monotonic()
    },
    add(folder) {
      const own = markOf(folder)
      // One that is missing would be a new name in the folder around it, which most of them share.
      const [asked, mark] = own === MISSING ? [dirname(folder), markOf(dirname(folder))] : [folder, own]
      const isSettled = mark === MISSING || Math.abs(clock.now() - mark[0]) > TICK_MS
      marks.set(asked, isSettled ? mark : UNSETTLED)
    },
    areUnchanged() {
      if (marks.size > FEW && clock.monotonic() - askedAt < MANY_MS) return true
      askedAt = clock.monotonic()
      for (const [folder, [modified, inode]] of marks) {
        const now = markOf(folder)
        if (now[0] !== modified || now[1] !== inode) return false
      }
      return true
    },
  }
}

type Mark = readonly [modified: number, inode: number]
const UNSETTLED: Mark = [-1, -1]
const MISSING: Mark = [0, 0]

function markOf(folder: string): Mark {
  const stat = statBehind(folder)
  return stat === null ? MISSING : [stat.mtimeMs, stat.ino]
}
