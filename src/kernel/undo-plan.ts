import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import { realPathOf, statOf } from '../spaces/disk.ts'
import { ABSENT, entryAt, isSame } from '../spaces/entry.ts'
import type { Entry, PathChange } from '../store/undo.ts'
import { HOLDS_MORE } from './put-back.ts'

/** The changes of one call. */
export interface UndoStep {
  readonly callId: string
  readonly changes: readonly PathChange[]
  /** Whether somebody else may have changed this path while the call ran. */
  readonly isDoubtful?: (path: string) => boolean
}

/** One path on its way back, in the order in which it can be done. */
export interface UndoLine {
  readonly path: string
  readonly from: Entry
  readonly to: Entry
  /** It may be somebody else's work that goes. */
  readonly isDoubtful: boolean
}

/** A path that stays as it is, and why. */
export interface LeftPath {
  readonly path: string
  readonly callId: string
  /** Somebody changed it since; else it is a folder that others use. */
  readonly isConflict: boolean
  readonly reason: string
  /** What it would have become. */
  readonly to: Entry
  readonly isDoubtful?: boolean
}

export interface UndoPlan {
  readonly lines: readonly UndoLine[]
  readonly left: readonly LeftPath[]
}

/**
 * What taking these calls back, newest first, comes to. A path goes back only from what the call left; of a call that
 * was cut off nobody knows that, so only what is gone comes back. What somebody else may have changed while a call ran
 * is left, unless a person takes it back.
 */
export function planUndo(steps: readonly UndoStep[], isPerson: boolean): UndoPlan {
  const present = new Map<string, Entry>()
  const goal = new Map<string, Entry>()
  const by = new Map<string, string>()
  const doubtful = new Set<string>()
  const left: LeftPath[] = []
  for (const { callId, changes, isDoubtful } of steps) {
    for (const { path, before, after } of changes) {
      const now = goal.get(path) ?? lookAt(path)
      if ('reason' in now) {
        left.push({ path, callId, isConflict: true, reason: now.reason, to: before })
        continue
      }
      if (!present.has(path)) present.set(path, now)
      if (isSame(now, before)) continue
      if (!isSame(now, after ?? ABSENT)) {
        left.push({ path, callId, isConflict: true, reason: reasonOf(now, after), to: before })
        continue
      }
      if (isDoubtful?.(path) === true) {
        if (!isPerson) {
          left.push({ path, callId, isConflict: true, reason: MEANWHILE, to: before, isDoubtful: true })
          continue
        }
        doubtful.add(path)
      }
      goal.set(path, before)
      by.set(path, callId)
    }
  }
  const lines = [...goal]
    .map(([path, to]) => ({ path, from: present.get(path) ?? ABSENT, to, isDoubtful: doubtful.has(path) }))
    .filter(({ from, to }) => !isSame(from, to))
  return possible(lines, left, by)
}

/** Of a path that no argument of the call names. */
export const MEANWHILE = 'it was changed while the call ran, by it or by somebody else'

function lookAt(path: string): Entry | { readonly reason: string } {
  const above = dirname(path)
  try {
    // What a link leads to lies elsewhere, though it may look the same.
    return (realPathOf(above) ?? above) === above ? entryAt(path).entry : ABSENT
  } catch (error) {
    return { reason: messageOf(error) }
  }
}

function reasonOf(now: Entry, after: Entry | null): string {
  if (after === null) return "the call was cut off, so what is there now may be somebody else's"
  if (now.kind === 'absent') return 'it was removed since'
  return after.kind === 'absent' ? 'something else is there now' : 'it was changed since'
}

/** What stands in the way of a line besides its own path. */
function possible(
  lines: readonly UndoLine[],
  left: readonly LeftPath[],
  by: ReadonlyMap<string, string>,
): UndoPlan {
  const goals = new Map(lines.map(({ path, to }) => [path, to]))
  const refused: LeftPath[] = []
  const refuse = ({ path, to }: UndoLine, isConflict: boolean, reason: string): void => {
    goals.delete(path)
    refused.push({ path, callId: by.get(path) ?? '', isConflict, reason, to })
  }
  // Deepest first: a folder that has to stay keeps those above it.
  const ordered = lines.toSorted((a, b) => b.path.length - a.path.length)
  for (const line of ordered) {
    if (line.from.kind !== 'folder' || line.to.kind === 'folder') continue
    const isUsed = readdirSync(line.path).some((name) => goals.get(join(line.path, name))?.kind !== 'absent')
    if (isUsed) refuse(line, line.to.kind !== 'absent', HOLDS_MORE)
  }
  for (const line of ordered.toReversed()) {
    if (line.to.kind === 'absent' || !goals.has(line.path)) continue
    const above = dirname(line.path)
    const goal = goals.get(above)
    const isThere = goal === undefined ? isFolder(above) : goal.kind === 'folder'
    if (!isThere) refuse(line, true, 'the folder it lay in is gone or leads elsewhere')
  }
  const kept = ordered.filter(({ path }) => goals.has(path))
  const isRemoval = ({ from, to }: UndoLine): boolean => to.kind === 'absent' || from.kind === 'folder'
  return {
    lines: [...kept.filter(isRemoval), ...kept.filter((line) => !isRemoval(line)).toReversed()],
    left: [...left, ...refused],
  }
}

function isFolder(path: string): boolean {
  return realPathOf(path) === path && statOf(path)?.isDirectory() === true
}
