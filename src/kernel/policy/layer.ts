import { TOO_LONG } from '../../chain/schema-engine.ts'
import type { Findings } from '../../chain/schemas.ts'
import type { ArgvPolicies } from '../../chain/shell/argv-policy.ts'
import type { JsonObject } from '../../shared/json.ts'
import { canonicalJson, deepFreeze, sha256 } from '../../shared/json.ts'
import { compileMatch, RAW } from './match.ts'
import type { Layer, LayerData, Operation, ReadyRule, Rule } from './rule.ts'

/** What the rules of layers are compiled with. */
export interface LayerMeans {
  readonly argvPolicies: () => Promise<{ readonly policies: ArgvPolicies }>
  readonly compileSchema: (schema: JsonObject, what: string) => Promise<(value: unknown) => Findings | null>
}

/** Makes a layer ready to judge: once, since everything in it is looked up by operation. */
export async function compileLayer(data: LayerData, isBase: boolean, means: LayerMeans): Promise<Layer> {
  const isNeeded = data.rules.some(needsPolicies)
  const policies = isNeeded ? (await means.argvPolicies()).policies : NO_POLICIES
  const ready = await Promise.all(data.rules.map((rule) => compileRule(rule, policies, means)))
  return assemble(data, isBase, ready)
}

/** What is refused or asked about is looked for behind other programs: which those are, data says. */
function needsPolicies({ match, effect }: Rule): boolean {
  if (match.kind === 'command') return true
  return match.kind === 'program' && effect !== 'allow' && match.names.some((name) => name !== RAW)
}

/** A layer without conditions and without patterns of commands, at once. */
export function plainLayer(data: LayerData, isBase: boolean): Layer {
  const ready = data.rules.map((rule): ReadyRule => {
    return { rule, speaksOf: compileMatch(rule.match, NO_POLICIES, rule.effect), holds: null }
  })
  return assemble(data, isBase, ready)
}

const NO_POLICIES: ArgvPolicies = new Map()

async function compileRule(rule: Rule, policies: ArgvPolicies, means: LayerMeans): Promise<ReadyRule> {
  const speaksOf = compileMatch(rule.match, policies, rule.effect)
  if (rule.when === undefined) return { rule, speaksOf, holds: null }
  const check = await means.compileSchema(rule.when, `the condition of the rule "${rule.id}"`)
  return {
    rule,
    speaksOf,
    holds(parameters) {
      // A check fills in defaults.
      const found = check(structuredClone(parameters))
      // Of a value that is too large for it a check gives no answer.
      if (found?.invalid.some(({ reason }) => reason === TOO_LONG.message) === true)
        throw new Error(TOO_LONG.message)
      return found === null
    },
  }
}

function assemble(data: LayerData, isBase: boolean, ready: readonly ReadyRule[]): Layer {
  const { name, source, rules } = deepFreeze(data)
  const of = (op: Operation): readonly ReadyRule[] => ready.filter(({ rule }) => rule.op === op)
  return Object.freeze({
    name,
    source,
    rules,
    isBase,
    hash: sha256(canonicalJson({ name, source, rules })),
    byOperation: {
      tool: of('tool'),
      exec: of('exec'),
      net: of('net'),
      read: of('read'),
      write: of('write'),
      spawn: of('spawn'),
    },
  })
}
