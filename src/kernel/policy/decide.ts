import type { JsonObject } from '../../shared/json.ts'
import { isFixed, RAW } from './match.ts'
import { missingGrant } from './missing-grant.ts'
import type { Demand, Effect, Layer, ReadyRule, Verdict } from './rule.ts'

const RANKS: Readonly<Record<Effect, number>> = { deny: 0, ask: 1, allow: 2 }

/**
 * The one function that decides. Within a layer: any deny, else any ask, else any allow, else deny. Over demands and
 * layers: the strictest. Without a layer, or without a demand, the answer is no. `parameters` are null where a call is
 * not known yet: then only what no arguments could change counts against it.
 */
export function decide(
  layers: readonly Layer[],
  demands: readonly Demand[],
  parameters: JsonObject | null,
): Verdict {
  let strictest: Found | null = null
  const isGranted = demands.some(isGrant)
  for (const layer of layers) {
    for (const demand of demands) {
      if (!layer.isBase && isGranted && isCovered(demand)) continue
      const found = judge(layer, demand, parameters)
      // A list of what a run may call does not close what its shell may start.
      if (!layer.isBase && found.ready === null && isCommand(demand)) continue
      if (strictest === null || RANKS[found.effect] < RANKS[strictest.effect]) strictest = found
    }
  }
  if (strictest === null) return NOTHING_TO_JUDGE
  const verdict = toVerdict(strictest, demands)
  if (verdict.reason === null) return verdict
  return { ...verdict, remedy: `${verdict.remedy}${rawOffer(layers, demands.filter(isCommand), parameters)}` }
}

/** The other way on for a command that is not taken as it is: said only where it is open. */
export function rawOffer(
  layers: readonly Layer[],
  also: readonly Demand[] = [],
  parameters: JsonObject | null = null,
): string {
  const { effect } = decide(layers, [RAW_SCRIPT, ...also], parameters)
  // What is shipped asks about every script, so none is ever simply allowed.
  return effect === 'deny' ? '' : '; or send it with raw: true, which a person is asked about'
}

const RAW_SCRIPT: Demand = { op: 'exec', program: RAW, argv: [RAW], isChosen: true, runsCode: true }

function isGrant(demand: Demand): boolean {
  return demand.op === 'tool' && !isFixed(demand) && !isCommand(demand)
}

function isCommand(demand: Demand): boolean {
  return demand.op === 'tool' && demand.isCommand === true
}

/** The grant of a tool covers what its manifest fixes, that of an action on items their files. */
function isCovered(demand: Demand): boolean {
  return isFixed(demand) || (demand.op === 'write' && demand.isItem === true)
}

const NOTHING_TO_JUDGE: Verdict = {
  effect: 'deny',
  layer: 'none',
  rule: null,
  demand: { op: 'tool', id: '', action: '' },
  remedy: 'Run kiwi doctor: a call without layers or demands should not happen',
  required: null,
  reason: null,
}

interface Found {
  readonly effect: Effect
  readonly layer: Layer
  readonly demand: Demand
  readonly ready: ReadyRule | null
}

function judge(layer: Layer, demand: Demand, parameters: JsonObject | null): Found {
  let effect: Effect | null = null
  let ready: ReadyRule | null = null
  for (const candidate of layer.byOperation[demand.op]) {
    if (!candidate.speaksOf(demand) || !applies(candidate, parameters)) continue
    const said = effectOf(candidate, demand)
    if (effect !== null && RANKS[said] >= RANKS[effect]) continue
    effect = said
    ready = candidate
    if (effect === 'deny') break
  }
  return { effect: effect ?? 'deny', layer, demand, ready }
}

/** A condition that cannot be told counts against the call: what allows does not apply, what restricts does. */
function applies({ holds, rule: { effect } }: ReadyRule, parameters: JsonObject | null): boolean {
  if (holds === null) return true
  if (parameters === null) return effect === 'allow'
  try {
    return holds(parameters)
  } catch {
    return effect !== 'allow'
  }
}

/** A program's name alone stands for what its argv policy lets pass. */
function effectOf({ rule: { effect, match } }: ReadyRule, demand: Demand): Effect {
  if (faultOf(demand) === null || effect !== 'allow') return effect
  return match.kind === 'program' || match.kind === 'prefix' ? 'deny' : effect
}

function faultOf(demand: Demand): { readonly reason: string; readonly remedy: string } | null {
  return demand.op === 'exec' ? (demand.fault ?? null) : null
}

function toVerdict({ effect, layer, demand, ready }: Found, demands: readonly Demand[]): Verdict {
  const { name } = layer
  if (ready === null || ready.rule.isUnlisted === true) {
    const { rule, remedy, required } = missingGrant(layer, demand, demands)
    return { effect, layer: name, rule, demand, remedy, required, reason: null }
  }
  const { rule } = ready
  const fault = rule.effect === effect ? null : faultOf(demand)
  return {
    effect,
    layer: name,
    rule: rule.id,
    demand,
    remedy: fault?.remedy ?? rule.remedy,
    required: null,
    reason: fault?.reason ?? null,
  }
}
