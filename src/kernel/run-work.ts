import type { Draft } from '../chain/draft.ts'
import type { Performed } from '../chain/perform.ts'
import type { Plan } from '../chain/plan.ts'
import { unsignedRefusal } from '../chain/trust-refusals.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Watch } from '../shared/progress.ts'
import type { Redact } from '../shared/redact.ts'
import { redactBoth } from '../shared/redact.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Link, Ticket, Wish, Work } from './call.ts'
import { checkpointHint } from './checkpoint-hint.ts'
import { heldPaths } from './held-paths.ts'
import { listedPlan } from './listed-plan.ts'
import type { Means } from './means.ts'
import { rawOffer } from './policy/decide.ts'
import { relisting } from './relisting.ts'
import type { Policy } from './policy/policy.ts'
import type { PathDemands } from './path-demands.ts'
import { pathDemands } from './path-demands.ts'
import type { RuleCheck } from './rule-check.ts'
import { ruleCheck } from './rule-check.ts'
import { runDemands } from './run-demands.ts'
import { runPreview } from './run-preview.ts'
import { saveRun } from './save-run.ts'
import { screenRun } from './screen-run.ts'
import { noReturnOf, undoOf, undoWarnings } from './undo-of.ts'

/** A tool to be run, worked out to its last argument. */
export function runWork(
  wish: Extract<Wish, { kind: 'run' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Maybe<Work> {
  return after(trustedPlan(wish, lookup, means, ticket), (trusted) => {
    const { plan, spaceRoot, policy } = trusted
    const drafted = means.chain.draft(plan, {
      callId: ticket.callId,
      principal: ticket.caller.principal,
      session: ticket.caller.session,
      parameters: wish.parameters,
      projectPath: lookup.projectPath,
      spaceRoot,
      sandbox: policy.sandbox,
      rawOffer: () => rawOffer(policy.layers),
      guardsOwn: ticket.caller.kind === 'agent' ? policy.guardsOwn : null,
    })
    return after(drafted, (made) => {
      const draft = redactedBy(made, means.secrets.redact)
      const rules = ruleCheck(plan, { action: 'run', ticket, lookup, means, redact: draft.redact })
      return after(rules, (checked) =>
        workOf({ wish, trusted, draft, rules: checked }, { lookup, ticket, means }),
      )
    })
  })
}

interface Drafted {
  readonly wish: Extract<Wish, { kind: 'run' }>
  readonly trusted: TrustedPlan
  readonly draft: Draft
  readonly rules: RuleCheck
}

/** What a call is made in. */
export interface Circumstances {
  readonly lookup: Lookup
  readonly ticket: Ticket
  readonly means: Means
}

function workOf({ wish, trusted, draft, rules }: Drafted, { lookup, ticket, means }: Circumstances): Work {
  const { plan, policy, warnings: noted } = trusted
  const { projectPath } = lookup
  const fit = (data: JsonObject): Promise<JsonObject> => means.results.fit(ticket.callId, plan.item.id, data)
  const paths = pathDemands(plan.item.manifest, { parameters: draft.parameters, projectPath })
  const hint = checkpointHint(draft, projectPath)
  const relisted = relisting(draft, { lookup, means, judge: async () => trustedPlan(wish, lookup, means) })
  const undo = undoOf(draft, { projectPath, paths: paths?.demands ?? [], cover: means.undo.cover })
  const noReturn = noReturnOf(draft, undo)
  // What is shipped tells of every command of it that it changes nothing.
  const isReadingLine = draft.effect.kind === 'line' && draft.isReadOnly
  return {
    item: { id: plan.item.id, version: plan.item.manifest.version, space: plan.item.space },
    action: 'run',
    chain: linksOf(plan),
    demands: [
      ...runDemands(draft, means.own),
      ...(paths?.demands ?? []),
      ...heldPaths(draft),
      ...rules.demands,
    ],
    isRepeatable: plan.isRepeatable || isReadingLine,
    isReadOnly: plan.isReadOnly || isReadingLine,
    parameters: draft.parameters,
    trust: plan.trust.level,
    ...(draft.hold === null ? {} : { heldBy: draft.hold.shown }),
    policy,
    digest: digestOf(draft),
    ...(paths?.change === undefined ? {} : { change: paths.change }),
    ...(undo === undefined ? {} : { undo }),
    ...(noReturn === undefined ? {} : { noReturn }),
    redact: draft.redact,
    preview: (isWhole = false) => ({
      ...runPreview(draft, isWhole),
      ...paths?.preview(),
      ...rules.preview(),
      ...hint,
    }),
    warnings: [
      ...plan.warnings,
      ...plan.trust.warnings,
      ...noted,
      ...draft.warnings,
      ...rules.warnings,
      ...undoWarnings(undo),
    ],
    found: relisted.found,
    async perform(watch) {
      const checking = rules.check(watch?.signal)
      const found = checking instanceof Promise ? await checking : checking
      try {
        const run = { draft, callId: ticket.callId, projectPath }
        const { data, warnings } = await saveRun(run, means, () =>
          screenRun({ toolId: plan.item.id, projectPath }, means, () =>
            onPaths(paths, watch, (judged) => means.chain.perform(draft, relisted.watching(judged))),
          ),
        )
        return { data: { ...(await fit(data)), ...hint }, warnings: [...found, ...warnings] }
      } catch (error) {
        throw error instanceof KiwiError ? await error.withPartial(fit) : error
      }
    },
  }
}

/** What another call was given may come back by this one. */
export function redactedBy(drafted: Draft, known: Redact): Draft {
  const { plan, parameters, digest, effect, hold, isReadOnly, warnings, settle } = drafted
  const redact = redactBoth(drafted.redact, known)
  return { plan, parameters, digest, effect, hold, redact, isReadOnly, warnings, settle }
}

const digests = new WeakMap<Plan, { readonly chain: string; readonly digest: string }>()

/** Of the content that is run, from one call of a plan to the next. */
function digestOf({ plan, digest: chain }: Draft): string {
  const before = digests.get(plan)
  if (before?.chain === chain) return before.digest
  const digest = sha256(canonicalJson({ chain, content: plan.item.contentHash }))
  digests.set(plan, { chain, digest })
  return digest
}

/** What was judged goes along with the call, and what may not be read stays out of what it finds. */
async function onPaths(
  paths: PathDemands | null,
  watch: Watch | undefined,
  perform: (judged?: Watch) => Promise<Performed>,
): Promise<Performed> {
  if (paths === null) return perform(watch)
  const { data, warnings } = await perform({ ...watch, paths: paths.real })
  return { data: paths.found(data, watch?.mayRead ?? (() => false)), warnings }
}

/** What stands against a run may have passed a moment ago: a person has trusted the project, or signed the item. */
export function trustedPlan(
  { ref, itemType, item }: Meant,
  lookup: Lookup,
  means: Means,
  ticket?: Ticket,
): Maybe<TrustedPlan> {
  const { chain, policyOf } = means
  // Which one of that name is meant may be known.
  const resolve = (): Maybe<Plan> =>
    item === undefined ? chain.resolver.current(ref, lookup, itemType) : chain.resolver.plan(item, lookup)
  return after(listedPlan(ref, resolve, { lookup, means, ticket }), ({ plan: kept, warnings }) => {
    if (kept.trust.refusal !== null) lookup.freshen(true)
    return after(kept.trust.refusal === null ? kept : resolve(), (plan) => {
      if (plan.trust.refusal !== null) throw plan.trust.refusal
      return after(policyOf(lookup.projectPath), (policy) =>
        withLibrary({ plan, policy, warnings }, lookup, means),
      )
    })
  })
}

/** What is to be run. */
export type Meant = Pick<Extract<Wish, { kind: 'run' }>, 'ref' | 'itemType'> & { readonly item?: Item }

/** The library of its space goes with it where that is trusted, too. */
function withLibrary(
  { plan, policy, warnings }: Omit<TrustedPlan, 'spaceRoot'>,
  lookup: Lookup,
  { chain }: Means,
): Maybe<TrustedPlan> {
  const { signatureRequiredBy } = policy
  const { unsigned, isProjectTrusted } = plan.trust
  if (signatureRequiredBy !== null && unsigned !== null)
    throw unsignedRefusal('run', plan.item, unsigned, signatureRequiredBy)
  const spaceRoot = rootOf(plan.item, lookup)
  const whole = { plan, spaceRoot, policy, warnings }
  if (spaceRoot === null || (isProjectTrusted && signatureRequiredBy === null)) return whole
  const why = isProjectTrusted ? 'nobody signs it' : 'nobody has trusted the project'
  const note = `the library "${spaceRoot}/tools/lib" and modules beside it are left out: ${why}`
  return after(chain.hasLibrary(plan.items, spaceRoot), (hasLibrary) =>
    hasLibrary ? { plan, spaceRoot: null, policy, warnings: [...warnings, note] } : whole,
  )
}

export interface TrustedPlan {
  readonly plan: Plan
  /** The space whose library goes with it; a signature is only for the item itself. */
  readonly spaceRoot: string | null
  readonly policy: Policy
  readonly warnings: readonly string[]
}

/** The folder of the space an item was found in; null in the store. */
export function rootOf({ space }: Item, { roots }: Lookup): string | null {
  return roots.find((place) => place.space === space)?.root ?? null
}

export function linksOf({ links }: Plan): readonly Link[] {
  return links.map(({ tool_id, version, space }) => ({ id: tool_id, version, space }))
}
