import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { readExtended } from '../spaces/directive/extend.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { checkBounds } from './directive/check-bounds.ts'
import { prepareDirective } from './directive/prepare-directive.ts'
import type { Handed } from './directive/ready-answer.ts'
import { howToCall, readyAnswer, sayIfLeftOut } from './directive/ready-answer.ts'
import { toolContext } from './directive/tool-context.ts'
import { itemDemand, judgedItem } from './item-demand.ts'
import type { Means } from './means.ts'
import type { Run } from './runs.ts'
import { linksOf, trustedPlan } from './run-work.ts'

/** Begins a run: the agent is handed what to follow, and its calls are judged by what the directive grants. */
export async function directiveWork(
  wish: Extract<Wish, { kind: 'run' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  const { plan, policy } = await trustedPlan(wish, lookup, means)
  const { item } = plan
  const { id, space, contentHash } = item
  const { version } = item.manifest
  const { directive, bases } = await readExtended(item, (ref, by) => asItIsNow(ref, by, lookup))
  // What it is built on is handed over with it, so it is trusted like it, and the whole is worth the least of them.
  const plans = [plan]
  for (const base of bases) plans.push((await trustedPlan({ ...wish, item: base }, lookup, means)).plan)
  const { parameters } = wish
  const prepared = await prepareDirective(directive, { item, parameters, policy, lookup, ticket, means })
  const { run, scene, handed } = prepared
  checkBounds(directive.name, handed.inputs, plans)
  // Nothing is asked of servers in a dry run: what is known of them is shown.
  const rehearsed = means.listings === null ? readyAnswer(handed, await toolContext(scene)) : null
  let begun: string | null = null
  const content = [contentHash, ...bases.map((base) => base.contentHash)]
  return {
    item: { id, version, space },
    action: 'run',
    chain: linksOf(plan),
    demands: [itemDemand(judgedItem(item)), { op: 'spawn', directive: id }],
    isRepeatable: true,
    isReadOnly: false,
    status: 'ready',
    parameters: handed.inputs,
    trust: plans.map(({ trust }) => trust.level).reduce((least, level) => (level < least ? level : least)),
    policy,
    digest: sha256(canonicalJson({ chain: plan.digest, content })),
    redact: keepAll,
    preview: () => rehearsed ?? beginning(id, version, handed),
    warnings: plans.flatMap(({ warnings, trust }) => [...warnings, ...trust.warnings]),
    async perform() {
      const context = await toolContext(scene)
      const answer = readyAnswer(handed, context)
      const runId = await run.open()
      begun = runId
      const data = { run_id: runId, ...answer, ...howToCall(runId, lookup.projectPath) }
      const brief = { tool_context: context.brief }
      const fitting = await means.results.fitAnswer(ticket.callId, id, data, brief)
      return { data: sayIfLeftOut(fitting), warnings: [] }
    },
    found: () => (begun === null ? {} : { run_id: begun }),
  }
}

/** What it is built on may have been changed a moment ago. */
async function asItIsNow(ref: ItemRef, by: Item, lookup: Lookup): Promise<Item | null> {
  const known = await lookup.baseOf(by, ref)
  if (known === null || lookup.isCurrent(known)) return known
  lookup.freshen(true)
  return lookup.baseOf(by, ref)
}

/** What a person is shown who is asked whether it may begin. */
function beginning(name: string, version: string, { inputs, permissions }: Handed): JsonObject {
  return { directive: { name, version, inputs }, permissions }
}

/** Ends a run with all that were begun in it: whoever began it says when. Where none is named, it is the one the call is of. */
export async function finishWork(
  { runId, directive: said }: Extract<Wish, { kind: 'finish' }>,
  ticket: Ticket,
  { runs }: Means,
): Promise<Work> {
  const named = runId ?? ticket.runId
  if (named === undefined) throw noRun(said)
  const run = await runs.ending(named, ticket.caller)
  if (said !== null && run.directive !== said) throw ofAnother(run, said)
  const { id, directive } = run
  const shown: JsonObject = { run_id: id, directive }
  return {
    item: { id, version: null, space: null },
    action: 'finish',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'finish' }],
    isRepeatable: true,
    isReadOnly: false,
    endsRun: run,
    parameters: {},
    redact: keepAll,
    preview: () => shown,
    warnings: [],
    async perform() {
      await runs.close(id)
      return { data: { output: `The run "${id}" is over`, ...shown }, warnings: [] }
    },
  }
}

/** A directive may have many runs, and only a session that stays inside of one means that one. */
function noRun(said: string | null): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot finish "${said ?? ''}": it is not said which run`, {
    hint: 'Give the run_id that the run was begun with, as item_id; one that is lost ends by itself, after a day without a call',
    details: { missing: ['run_id'], invalid: [] },
  })
}

function ofAnother({ id, directive }: Run, said: string): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot finish "${said}": the run "${id}" is of "${directive}"`, {
    hint: 'Give the run_id of the run that is to end, as item_id',
    fix: {
      call: 'execute',
      arguments: { item_type: 'directive', action: 'finish', item_id: id },
    },
    details: { run_id: id, directive },
  })
}
