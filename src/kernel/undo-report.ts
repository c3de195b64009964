import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { statOf } from '../spaces/disk.ts'
import type { Checkpoint, Entry } from '../store/undo.ts'
import type { Caller, Work } from './call.ts'
import type { Means } from './means.ts'
import type { LeftPath, UndoLine, UndoPlan } from './undo-plan.ts'
import { textAt } from './text-at.ts'
import { MEANWHILE } from './undo-plan.ts'

/** A call that takes another one back. */
export interface CounterCall {
  readonly callId: string
  readonly tool: string
  readonly work: Work
}

interface Undertaking {
  readonly id: string
  readonly checkpoints: readonly Checkpoint[]
  readonly plan: UndoPlan
  readonly counter: readonly CounterCall[]
  /** What is found not to be covered only now, of calls that were cut off. */
  readonly uncovered: readonly string[]
  readonly caller: Caller
}

interface UndoReport {
  readonly preview: JsonObject
  readonly warnings: readonly string[]
  /** After it was done, but for what failed. */
  done(failed: readonly LeftPath[], undone: readonly Checkpoint[]): JsonObject
}

const MOST_PATHS = 1000
const MOST_NAMES = 20
const MOST_TEXTS = 20
const MOST_TEXT_BYTES = 64 * 1024

/** What would be undone, and what was. Old bytes are shown to a person alone, where they have to choose. */
export async function undoReport(
  { id, checkpoints, plan, counter, uncovered, caller }: Undertaking,
  means: Means,
): Promise<UndoReport> {
  const texts = caller.kind === 'person' ? await conflictTexts(plan.left, means) : new Map<string, Texts>()
  const calls = checkpoints.map(({ call_id, tool, tier, wall }) => {
    return { call_id, tool, tier, time: new Date(wall).toISOString() }
  })
  const makes = counter.map(({ callId, tool }) => ({ for: callId, tool }))
  const { names, count } = notCovered(checkpoints, uncovered)
  const conflicts = plan.left.filter(({ isConflict }) => isConflict).length
  const report = (lines: readonly UndoLine[], left: readonly LeftPath[]): JsonObject => ({
    undo: id,
    calls,
    ...(makes.length === 0 ? {} : { makes_calls: makes }),
    totals: totalsOf(lines, left),
    paths: [...lines.map(lineOf), ...left.map((each) => leftOf(each, texts))].slice(0, MOST_PATHS),
    not_covered: names,
    not_covered_count: count,
  })
  return {
    preview: report(plan.lines, plan.left),
    warnings: warningsOf(id, plan.left),
    done(failed, undone) {
      const lost = new Set(failed.map(({ path }) => path))
      const lines = plan.lines.filter(({ path }) => !lost.has(path))
      const said = `${lines.length} ${lines.length === 1 ? 'path' : 'paths'} put back`
      const kept = conflicts + failed.length
      const left = kept === 0 ? '' : `, ${kept} left as they are`
      return {
        output: `${said}${left}${count === 0 ? '' : `; undo does not cover ${count}`}`,
        ...report(lines, [...plan.left, ...failed]),
        undone: undone.map(({ call_id }) => call_id),
      }
    },
  }
}

function warningsOf(id: string, left: readonly LeftPath[]): readonly string[] {
  const doubtful = left.filter(({ isDoubtful }) => isDoubtful === true).length
  const since = left.filter(({ isConflict }) => isConflict).length - doubtful
  return [
    ...(since === 0 ? [] : [`${since} of the paths were changed since and are left as they are`]),
    ...(doubtful === 0
      ? []
      : [
          `${doubtful} of the paths were changed while the call ran, by it or by somebody else, and are left: a person looks at them with kiwi undo ${id}`,
        ]),
  ]
}

/** What becomes of a path. */
function actionOf({ from, to }: UndoLine): string {
  if (to.kind === 'absent') return 'remove'
  return from.kind === 'absent' ? 'bring_back' : 'restore'
}

function totalsOf(lines: readonly UndoLine[], left: readonly LeftPath[]): JsonObject {
  const count = (action: string): number => lines.filter((line) => actionOf(line) === action).length
  return {
    restore: count('restore'),
    bring_back: count('bring_back'),
    remove: count('remove'),
    conflict: left.filter(({ isConflict }) => isConflict).length,
  }
}

function lineOf(line: UndoLine): JsonValue {
  const changed = statOf(line.path)?.mtime
  return {
    path: line.path,
    action: actionOf(line),
    kind: kindOf(line),
    ...(line.isDoubtful ? { reason: MEANWHILE } : {}),
    ...(changed === undefined ? {} : { changed_at: changed.toISOString() }),
  }
}

function kindOf({ from, to }: UndoLine): Entry['kind'] {
  return to.kind === 'absent' ? from.kind : to.kind
}

function leftOf(
  { path, callId, isConflict, reason }: LeftPath,
  texts: ReadonlyMap<string, Texts>,
): JsonValue {
  return {
    path,
    action: isConflict ? 'conflict' : 'leave',
    reason,
    call_id: callId,
    ...texts.get(path),
  }
}

/** What a file was before the call, and what it is now: both leave by the gate, which takes secrets out. */
interface Texts {
  readonly before: string
  readonly now: string
}

async function conflictTexts(left: readonly LeftPath[], { store }: Means): Promise<Map<string, Texts>> {
  const texts = new Map<string, Texts>()
  for (const { path, to, isConflict } of left) {
    if (!isConflict || to.kind !== 'file' || texts.size >= MOST_TEXTS) continue
    const bytes = await store.undo.bytes(to.hash)
    if (bytes === null || bytes.byteLength > MOST_TEXT_BYTES || !isUtf8(bytes)) continue
    const now = textAt(path)
    if (now === null || now.length > MOST_TEXT_BYTES) continue
    texts.set(path, { before: Buffer.from(bytes).toString('utf8'), now })
  }
  return texts
}

const Uncovered = z.object({
  not_covered: z.array(z.string()).catch([]),
  not_covered_count: z.number().catch(0),
})

/** What these calls changed and is not given back: some names, and how many there are besides what git ignores. */
function notCovered(
  checkpoints: readonly Checkpoint[],
  found: readonly string[],
): { names: readonly string[]; count: number } {
  const kept = checkpoints.map(({ details }) => Uncovered.parse(details))
  const named = new Set([...kept.flatMap((each) => each.not_covered), ...found])
  const unnamed = kept.map((each) => Math.max(0, each.not_covered_count - each.not_covered.length))
  const count = named.size + unnamed.reduce((sum, each) => sum + each, 0)
  const names = [...named].slice(0, MOST_NAMES)
  const isTree = checkpoints.some(({ tier }) => tier === 'tree')
  return {
    names: [
      ...(isTree ? ['what .gitignore names'] : []),
      ...names,
      ...(count > names.length ? [`and ${count - names.length} more`] : []),
    ],
    count,
  }
}
