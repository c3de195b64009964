import { KiwiError, messageOf } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Checkpoint, KeptBytes } from '../store/undo.ts'
import type { Ticket, Undo, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { putBack } from './put-back.ts'
import { runWork } from './run-work.ts'
import { undoWarnings } from './undo-of.ts'
import { chosenCheckpoints } from './undo-choice.ts'
import type { LeftPath, UndoLine, UndoPlan } from './undo-plan.ts'
import { planUndo } from './undo-plan.ts'
import { doubtOf } from './undo-doubt.ts'
import type { CounterCall } from './undo-report.ts'
import { undoReport } from './undo-report.ts'

/** Takes calls back, newest first: judged, recorded and undoable like any other call. */
export async function undoWork(
  { id }: Extract<Wish, { kind: 'undo' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  const checkpoints = await chosenCheckpoints(id, ticket.caller, means)
  const { steps, recovered, uncovered } = await stepsOf(checkpoints, means)
  const plan = planUndo(steps, ticket.caller.kind === 'person')
  const counter = await counterCalls(checkpoints, lookup, ticket, means)
  const report = await undoReport({ id, checkpoints, plan, counter, uncovered, caller: ticket.caller }, means)
  const undo = undoOfUndo(plan, counter)
  return {
    item: { id, version: null, space: null },
    action: 'undo',
    chain: counter.flatMap(({ work }) => work.chain),
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action: 'undo' },
      ...plan.lines.map(({ path }) => ({ op: 'write', path, isChosen: true }) as const),
      ...counter.flatMap(({ work }) => work.demands),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { undo: id, calls: checkpoints.map(({ call_id }) => call_id), paths: plan.lines.length },
    digest: sha256(canonicalJson(plan)),
    ...(undo === undefined ? {} : { undo }),
    redact: (value) => counter.reduce((redacted, { work }) => work.redact(redacted), value),
    preview: () => report.preview,
    warnings: [...report.warnings, ...undoWarnings(undo)],
    async perform(watch) {
      for (const { work } of counter) await work.perform(watch)
      const failed: LeftPath[] = []
      for (const line of plan.lines) {
        const reason = await restore(line, recovered, means)
        if (reason !== null)
          failed.push({ path: line.path, callId: '', isConflict: true, reason, to: line.to })
      }
      const isWhole = failed.length === 0
      const held = new Set(plan.left.filter(({ isConflict }) => isConflict).map(({ callId }) => callId))
      const undone = isWhole ? checkpoints.filter(({ call_id }) => !held.has(call_id)) : []
      await means.store.undo.markUndone(
        undone.map(({ call_id }) => call_id),
        ticket.callId,
      )
      lookup.freshen(true)
      return { data: report.done(failed, undone), warnings: [] }
    },
  }
}

interface Steps {
  readonly steps: Parameters<typeof planUndo>[0]
  readonly recovered: readonly KeptBytes[]
  readonly uncovered: readonly string[]
}

async function stepsOf(checkpoints: readonly Checkpoint[], { store, chain }: Means): Promise<Steps> {
  const recovered: KeptBytes[] = []
  const uncovered: string[] = []
  const steps = []
  for (const checkpoint of checkpoints) {
    const { call_id: callId, tier, state, project } = checkpoint
    if (tier === 'tree' && state === 'open') {
      const found = await chain.trees.recover(project ?? '', callId)
      if ('why' in found)
        throw new KiwiError('CONFLICT', `Cannot undo "${callId}": it was cut off, and ${found.why}`, {
          hint: 'Look at the files it may have changed',
        })
      recovered.push(...found.bytes)
      uncovered.push(...found.skipped)
      steps.push({ callId, changes: found.changes })
      continue
    }
    const isDoubtful = doubtOf(checkpoint)
    steps.push({ callId, changes: await store.undo.changes(callId), ...(isDoubtful && { isDoubtful }) })
  }
  return { steps, recovered, uncovered }
}

async function counterCalls(
  checkpoints: readonly Checkpoint[],
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<readonly CounterCall[]> {
  const calls: CounterCall[] = []
  for (const { call_id: callId, tier, details } of checkpoints) {
    if (tier !== 'call') continue
    const tool = textOf(details['tool'])
    const { parameters } = details
    const given: JsonObject = isJsonObject(parameters) ? parameters : {}
    const wish = { kind: 'run', ref: parseItemRef(tool), itemType: 'tool', parameters: given } as const
    calls.push({ callId, tool, work: await runWork(wish, lookup, ticket, means) })
  }
  return calls
}

/** Files it puts back are kept as they are now; a call that takes another one back is made once. */
function undoOfUndo({ lines }: UndoPlan, counter: readonly CounterCall[]): Undo | undefined {
  if (lines.length > 0) return { tier: 'files', paths: lines.map(({ path }) => path) }
  if (counter.length === 0) return undefined
  return { tier: 'never', why: 'another call takes it back, and that is made only once' }
}

async function restore(
  { path, from, to }: UndoLine,
  recovered: readonly KeptBytes[],
  { store }: Means,
): Promise<string | null> {
  try {
    if (to.kind !== 'file') return putBack({ path, from, to, bytes: null })
    const bytes = recovered.find(({ hash }) => hash === to.hash)?.bytes ?? (await store.undo.bytes(to.hash))
    if (bytes === null || sha256(bytes) !== to.hash) return 'what was kept of it is gone'
    return putBack({ path, from, to, bytes })
  } catch (error) {
    return messageOf(error)
  }
}
