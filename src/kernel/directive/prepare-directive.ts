import { serverName } from '../../shared/groups.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import { NOTHING_TO_FOLLOW, isEmpty } from '../../spaces/directive/model.ts'
import { isNarrowing } from '../../spaces/directive/wanted.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { Ticket } from '../call.ts'
import { itemJudge } from '../item-demand.ts'
import type { Means } from '../means.ts'
import type { Policy } from '../policy/policy.ts'
import { ruleWords } from '../policy/rule-words.ts'
import type { Layer, Rule } from '../policy/rule.ts'
import { wantedLayer } from '../policy/wanted-layer.ts'
import type { PreparedRun } from '../runs.ts'
import { checkInputs } from './check-inputs.ts'
import { effectiveRules } from './effective-rules.ts'
import { isGroup } from './group-parts.ts'
import { harnessMode } from './harness-mode.ts'
import { leftUnder } from './left-under.ts'
import type { Handed } from './ready-answer.ts'
import type { Scene } from './scene.ts'
import { settleAliases } from './settle-aliases.ts'

interface Occasion {
  readonly item: Item
  readonly parameters: JsonObject
  readonly policy: Policy
  readonly lookup: Lookup
  readonly ticket: Ticket
  readonly means: Means
}

interface PreparedDirective {
  readonly run: PreparedRun
  readonly scene: Scene
  readonly handed: Handed
}

/** A directive that could be begun: its inputs checked, the layers of its run made. Nothing is kept of it yet. */
export async function prepareDirective(read: Directive, occasion: Occasion): Promise<PreparedDirective> {
  const { item, parameters, policy, lookup, ticket, means } = occasion
  const { projectPath } = lookup
  const { inputs, warnings: strange } = checkInputs(read, parameters)
  const { directive, aliases, warnings: unnamed } = await settleAliases(read, lookup)
  const { wanted, dialect } = directive
  const narrowing = isNarrowing(wanted)
    ? wantedLayer(wanted, { directive: item.id, dialect, aliases, home: means.home, projectPath })
    : null
  // The index says which servers there are.
  await lookup.syncIndex()
  const known = (await lookup.servers()).map((server) => server.name)
  const run = await means.runs.prepare({
    kind: 'run',
    parent: ticket.runId ?? null,
    principal: ticket.caller.principal,
    directive: item.id,
    dialect,
    // Without any it may do nothing: it does not start from what others may.
    permissions: { block: directive.permissions ?? undefined },
    scripts: wanted.scripts,
    wanted: narrowing,
    servers: [...known, ...wanted.servers.map(({ name }) => serverName(name))],
    session: heldSession(ticket, policy),
    projectPath,
    tools: null,
  })
  const layers = [...policy.layers, ...run.layers]
  const judge = itemJudge({ ...policy, layers })
  const granted = run.rules
  const left = leftUnder(granted, run.above)
  const found = [
    ...directive.findings.map(({ line, message }) => `line ${line}: ${message}`),
    ...(isEmpty(directive) ? [NOTHING_TO_FOLLOW] : []),
  ]
  return {
    run,
    scene: {
      directive,
      granted,
      left: left.rules,
      wanted: narrowing?.rules ?? null,
      judge,
      layers,
      policy,
      lookup,
      ticket,
      means,
    },
    handed: {
      item,
      directive,
      inputs,
      aliases,
      permissions: permissionsOf(run, left.rules, layers),
      byPattern: patternsIn(left.rules, wanted),
      warnings: [...strange, ...unnamed, ...found, ...left.warnings],
    },
  }
}

/** Tools that are granted by a pattern or by their type. Of a server that is named, all that it has is shown. */
function patternsIn(rules: readonly Rule[], { servers }: Directive['wanted']): readonly string[] {
  const isNarrowed = servers.some((server) => !isGroup(server))
  const found = rules.flatMap((rule) => {
    const { op, effect, match } = rule
    if (op !== 'tool' || effect === 'deny' || match.kind !== 'tool') return []
    const { server, tools = [], types, actions = ['run'] } = match
    const isOpen =
      typeof server === 'string'
        ? isPattern(server) && !isNarrowed
        : types !== undefined || tools.some(isPattern)
    return isOpen && actions.includes('run') ? [`"${ruleWords(rule).replace(/^\w+ tool /, '')}"`] : []
  })
  return [...new Set(found)]
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name)
}

/** In proxy mode an agent's session stays inside the run it has begun; one that several clients share cannot. */
function heldSession({ caller }: Ticket, policy: Policy): string | null {
  const isHeld = caller.kind === 'agent' && caller.isShared !== true && harnessMode(policy) === 'proxy'
  return isHeld ? caller.session : null
}

/** What it may do and must ask for under all layers, in words; what of it means nothing; and what only a person can give it. */
function permissionsOf(
  { warnings, secrets }: PreparedRun,
  left: readonly Rule[],
  layers: readonly Layer[],
): JsonObject {
  return {
    granted: [...new Set(effectiveRules(left, layers).map(ruleWords))],
    ignored: warnings,
    ...(secrets.length === 0 ? {} : { asks_for_secrets: secrets }),
  }
}
