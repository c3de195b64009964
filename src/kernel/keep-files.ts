import { sha256 } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { ABSENT, isSame, seeEntries } from '../spaces/entry.ts'
import { nameOf, oddChanges } from '../spaces/oddity.ts'
import type { Entry, PathChange } from '../store/undo.ts'
import type { Call, Work } from './call.ts'
import type { Kept } from './kept.ts'
import { newCheckpoint, notCovered, nothingKept, uncoveredDetails } from './kept.ts'
import type { Means } from './means.ts'

const BOUNDS = { bytes: LIMITS.undoCallBytes, files: LIMITS.undoFiles }

/** Keeps what stands at the paths that a call names, and below them. */
export async function keepFiles(
  call: Call,
  paths: readonly string[],
  { store, clock }: Means,
): Promise<Kept> {
  const { callId } = call.ticket
  const { entries, bytes, odd } = seeEntries(paths, BOUNDS)
  const [unkept] = odd
  if (entries.size === 0 && unkept !== undefined) return nothingKept(`${unkept[0]}: ${unkept[1].why}`)
  const before = Array.from(entries, ([path, entry]): PathChange => ({ path, before: entry, after: null }))
  await store.undo.open(newCheckpoint(call, 'files', clock.now()), before, bytes)
  call.seen = hashesOf(entries)
  return {
    warnings: [],
    async finish() {
      const { entries: now, odd: oddNow } = seeEntries([...paths, ...entries.keys()], BOUNDS)
      const uncovered = oddChanges(odd, oddNow)
      const changes = [...new Set([...entries.keys(), ...now.keys()])]
        .filter((path) => !odd.has(nameOf(path)))
        .map((path) => ({ path, before: entries.get(path) ?? ABSENT, after: now.get(path) ?? ABSENT }))
        .filter((change) => !isSame(change.before, change.after))
        .map((change) => ({ ...change, after: written(change, call.work) }))
      if (changes.length === 0) await store.undo.discard(callId)
      else await store.undo.close(callId, changes, { details: uncoveredDetails(uncovered) })
      return { isKept: changes.length > 0, warnings: notCovered(uncovered) }
    },
  }
}

function hashesOf(entries: ReadonlyMap<string, Entry>): ReadonlyMap<string, string | null> {
  const seen = new Map<string, string | null>()
  for (const [path, entry] of entries) {
    if (entry.kind === 'file') seen.set(path, entry.hash)
    if (entry.kind === 'absent') seen.set(path, null)
  }
  return seen
}

/** Where it is known what the call wrote, that is what it left: a change that came right after it is somebody else's. */
function written({ path, after }: { path: string; after: Entry }, work: Work | null): Entry {
  const change = work?.change
  if (change?.path !== path || after.kind !== 'file') return after
  return { ...after, hash: sha256(change.content) }
}
