import { basename } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { openTurns } from '../shared/take-turns.ts'
import { leadsOutTo } from './disk.ts'
import type { Entry } from './scan.ts'
import { NOT_ITEMS, scanByParts, typeFolders } from './scan.ts'
import { openWatch } from './watch.ts'

/** The files of a space as they were when they were last looked at. */
export interface Look {
  readonly entries: ReadonlyMap<string, Entry>
  readonly faults: readonly LinkOut[]
  /** Grows whenever a file was seen to have changed. */
  readonly generation: number
  /** Looks at them again, at most once a second unless `now`. */
  freshen(now?: boolean): void
  /** Sees everything that was saved before: by a look, or by what a watch reported. */
  catchUp(): Promise<void>
  close(): void
}

/** What is looked at. */
export interface LookedAt {
  readonly root: string
  /** The folder that no link may lead out of; null = the user's own, who may link as they like. */
  readonly within: string | null
  /** Given: the system is asked to report changes, and this is told when it cannot. */
  readonly onWatchFault?: ((reason: string) => void) | undefined
}

interface LinkOut {
  readonly path: string
  readonly reason: string
}

const FRESH_MS = 1000
/** However quiet a watch is: no system reports everything. */
const WATCHED_MS = 30_000

export function openLook(
  { root, within, onWatchFault }: LookedAt,
  clock: Clock,
  onChange: (entries: ReadonlyMap<string, Entry>) => void,
): Look {
  const names = new Set(typeFolders(root).map((folder) => basename(folder)))
  const watch = onWatchFault === undefined ? null : openWatch(root, names, onWatchFault)
  let entries: ReadonlyMap<string, Entry> = new Map()
  let faults: readonly LinkOut[] = []
  let lookedAt = -Infinity
  let generation = 0

  const isFresh = (): boolean => {
    const age = clock.monotonic() - lookedAt
    return age < FRESH_MS || (watch?.isQuiet === true && age < WATCHED_MS)
  }

  function* look(): Generator<void> {
    const started = clock.monotonic()
    const outside = within === null ? [] : linksOut(root, within)
    const leaveOut = new Set(outside.map(({ path }) => path))
    watch?.begin(typeFolders(root).filter((folder) => !leaveOut.has(folder)))
    const seen = yield* scanByParts(root, NOT_ITEMS, leaveOut, entries)
    // Another look began behind this one and came to its end before: it has seen more.
    if (lookedAt > started) return
    lookedAt = started
    if (isSame(entries, seen) && reasonsOf(faults) === reasonsOf(outside)) return
    faults = outside
    entries = seen
    generation += 1
    onChange(seen)
  }

  return {
    get entries() {
      return entries
    },
    get faults() {
      return faults
    },
    get generation() {
      return generation
    },
    freshen(now = false) {
      if (!now && isFresh()) return
      const parts = look()
      while (parts.next().done !== true);
    },
    async catchUp() {
      if (watch?.isQuiet === true) await watch.reported()
      if (watch?.isQuiet === true && isFresh()) return
      const turn = openTurns()
      const parts = look()
      while (parts.next().done !== true) await turn()
    },
    close: () => watch?.close(),
  }
}

/** The type folders that a link leads out of `within`: what a project brings along must not show what lies beside it. */
function linksOut(root: string, within: string): readonly LinkOut[] {
  return typeFolders(root).flatMap((path) => {
    const real = leadsOutTo(path, within)
    return real === null
      ? []
      : [{ path, reason: `Cannot use "${path}": a link leads out of the project to "${real}"` }]
  })
}

function reasonsOf(faults: readonly LinkOut[]): string {
  return faults.map(({ reason }) => reason).join('\n')
}

function isSame(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): boolean {
  if (before.size !== after.size) return false
  for (const [path, entry] of after) {
    const known = before.get(path)
    if (known !== entry && known?.stamp !== entry.stamp) return false
  }
  return true
}
