import type { Findings } from '../../chain/schemas.ts'
import type { ArgvPolicies } from '../../chain/shell/argv-policy.ts'
import type { JsonObject } from '../../shared/json.ts'
import { canonicalJson, deepFreeze, sha256 } from '../../shared/json.ts'
import { compileMatch } from './match.ts'
import type { Layer, LayerData, Operation, ReadyRule, Rule } from './rule.ts'
import { OPERATIONS } from './rule.ts'

/** What the rules of layers are compiled with. */
export interface LayerMeans {
  readonly argvPolicies: () => Promise<{ readonly policies: ArgvPolicies }>
  readonly compileSchema: (schema: JsonObject, what: string) => Promise<(value: unknown) => Findings | null>
}

/** Makes a layer ready to judge: once, since everything in it is looked up by operation. */
export async function compileLayer(data: LayerData, isBase: boolean, means: LayerMeans): Promise<Layer> {
  const isNeeded = data.rules.some(({ match }) => match.kind === 'command')
  const policies = isNeeded ? (await means.argvPolicies()).policies : NO_POLICIES
  const ready = await Promise.all(data.rules.map((rule) => compileRule(rule, policies, means)))
  return assemble(data, isBase, ready)
}

/** A layer without conditions and without patterns of commands, at once. */
export function plainLayer(data: LayerData, isBase: boolean): Layer {
  const ready = data.rules.map((rule): ReadyRule => {
    return { rule, speaksOf: compileMatch(rule.match, NO_POLICIES), holds: null }
  })
  return assemble(data, isBase, ready)
}

const NO_POLICIES: ArgvPolicies = new Map()

async function compileRule(rule: Rule, policies: ArgvPolicies, means: LayerMeans): Promise<ReadyRule> {
  const speaksOf = compileMatch(rule.match, policies)
  if (rule.when === undefined) return { rule, speaksOf, holds: null }
  const check = await means.compileSchema(rule.when, `the condition of the rule "${rule.id}"`)
  return {
    rule,
    speaksOf,
    holds(parameters) {
      // A check fills in defaults.
      const found = check(structuredClone(parameters))
      if (found?.invalid.some(({ reason }) => reason === TOO_LONG) === true) throw new Error(TOO_LONG)
      return found === null
    },
  }
}

/** What a check says of a value that is too large for it, which is no answer. */
const TOO_LONG = 'takes too long to check'

function assemble(data: LayerData, isBase: boolean, ready: readonly ReadyRule[]): Layer {
  const { name, source, rules } = deepFreeze(data)
  const byOperation = new Map<Operation, readonly ReadyRule[]>(
    OPERATIONS.map((op) => [op, ready.filter(({ rule }) => rule.op === op)]),
  )
  return Object.freeze({
    name,
    source,
    rules,
    isBase,
    hash: sha256(canonicalJson({ name, source, rules })),
    byOperation,
  })
}
