import { matches } from './match.ts'
import type { Demand, Effect, Layer, Rule, Verdict } from './rule.ts'

const ORDER: readonly Effect[] = ['deny', 'ask', 'allow']

/**
 * The one function that decides. Within a layer: any deny, else any ask, else any allow, else deny. Over demands and
 * layers: the strictest. Without a layer, or without a demand, the answer is no.
 */
export function decide(layers: readonly Layer[], demands: readonly Demand[]): Verdict {
  const verdicts = layers.flatMap((layer) => demands.map((demand) => judge(layer, demand)))
  const [first] = verdicts
  if (first === undefined) return NOTHING_TO_JUDGE
  return verdicts.reduce(
    (strictest, verdict) => (rank(verdict) < rank(strictest) ? verdict : strictest),
    first,
  )
}

const NOTHING_TO_JUDGE: Verdict = {
  effect: 'deny',
  layer: 'none',
  rule: null,
  demand: { op: 'tool', id: '', action: '' },
  remedy: 'Run kiwi doctor: a call without layers or demands should not happen',
}

function rank({ effect }: { readonly effect: Effect }): number {
  return ORDER.indexOf(effect)
}

function judge(layer: Layer, demand: Demand): Verdict {
  const speaking = layer.rules.filter(({ op, match }) => op === demand.op && matches(match, demand))
  const strictest = speaking.reduce<Rule | null>(
    (best, rule) => (best === null || rank(rule) < rank(best) ? rule : best),
    null,
  )
  return {
    effect: strictest?.effect ?? 'deny',
    layer: layer.name,
    rule: strictest?.id ?? null,
    demand,
    remedy: strictest?.remedy ?? `Add a rule for it to the layer "${layer.name}"`,
  }
}
