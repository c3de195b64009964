import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { readExtended } from '../spaces/directive/extend.ts'
import type { WantedTools } from '../spaces/directive/model.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { checkInputs } from './directive/check-inputs.ts'
import { harnessMode } from './directive/harness-mode.ts'
import { howToCall, readyAnswer } from './directive/ready-answer.ts'
import type { Scene } from './directive/scene.ts'
import { settleAliases } from './directive/settle-aliases.ts'
import { toolContext } from './directive/tool-context.ts'
import { itemDemand, itemJudge } from './item-demand.ts'
import type { Means } from './means.ts'
import { serverName } from '../shared/groups.ts'
import type { Policy } from './policy/policy.ts'
import { ruleWords } from './policy/rule-words.ts'
import { wantedLayer } from './policy/wanted-layer.ts'
import { linksOf, trustedPlan } from './run-work.ts'
import type { PreparedRun } from './runs.ts'

/** Begins a run: the agent is handed what to follow, and its calls are judged by what the directive grants. */
export async function directiveWork(
  wish: Extract<Wish, { kind: 'run' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  const { plan, policy } = await trustedPlan(wish, lookup, means)
  const { id, manifest, space, contentHash } = plan.item
  const { tool_type: type, executor, config, category, version } = manifest
  const { projectPath } = lookup
  const { directive: read, bases } = await readExtended(plan.item, (ref) => lookup.find(ref, 'directive'))
  // What it is built on is handed over with it, so it is trusted like it.
  for (const item of bases) await trustedPlan({ ...wish, item }, lookup, means)
  const { inputs, warnings: unknown } = checkInputs(read, wish.parameters)
  const { directive, aliases, warnings: unnamed } = await settleAliases(read, lookup)
  const wanted = isNarrowing(directive.wanted)
    ? wantedLayer(directive.wanted, { directive: id, aliases, home: means.home, projectPath })
    : null
  const run = await means.runs.prepare({
    kind: 'run',
    parent: ticket.runId ?? null,
    principal: ticket.caller.principal,
    directive: id,
    // Without any it may do nothing: it does not start from what others may.
    permissions: { block: directive.permissions ?? undefined },
    scripts: directive.wanted.scripts,
    wanted,
    servers: [
      ...(await knownServers(lookup, means)),
      ...directive.wanted.servers.map(({ name }) => serverName(name)),
    ],
    session: heldSession(ticket, policy),
    projectPath,
    tools: null,
  })
  const layers = [...policy.layers, ...run.layers]
  const scene: Scene = {
    directive,
    granted: run.rules,
    wanted: wanted?.rules ?? null,
    judge: itemJudge({ ...policy, layers }),
    layers,
    policy,
    lookup,
    ticket,
    means,
  }
  const found = directive.findings.map(({ line, message }) => `line ${line}: ${message}`)
  const permissions = permissionsOf(run)
  const prepared = {
    item: plan.item,
    directive,
    inputs,
    aliases,
    permissions,
    warnings: [...unknown, ...unnamed, ...found],
  }
  // Nothing is asked of servers in a dry run: what is known of them is shown.
  const rehearsed = means.listings === null ? readyAnswer(prepared, await toolContext(scene)) : null
  return {
    item: { id, version, space },
    action: 'run',
    chain: linksOf(plan),
    demands: [itemDemand({ id, type, space, executor, config, category }), { op: 'spawn', directive: id }],
    isRepeatable: true,
    isReadOnly: false,
    status: 'ready',
    parameters: inputs,
    trust: plan.trust.level,
    policy,
    digest: sha256(canonicalJson({
        chain: plan.digest,
        content: [contentHash, ...bases.map((base) => base.contentHash)],
      })),
    redact: keepAll,
    preview: () => rehearsed ?? { directive: { name: id, version, inputs }, permissions },
    warnings: [...plan.warnings, ...plan.trust.warnings],
    async perform() {
      const context = await toolContext(scene)
      const answer = readyAnswer(prepared, context)
      const runId = await run.open()
      const data = { run_id: runId, ...answer, ...howToCall(runId, projectPath) }
      const brief = { tool_context: context.brief }
      return { data: await means.results.fitAnswer(ticket.callId, id, data, brief), warnings: [] }
    },
  }
}

function isNarrowing({ servers, filesystem, shell, kiwi }: WantedTools): boolean {
  return servers.length > 0 || filesystem !== null || shell !== null || kiwi !== null
}

/** In proxy mode an agent's session stays inside the run it has begun; one that several clients share cannot. */
function heldSession({ caller }: Ticket, policy: Policy): string | null {
  const isHeld = caller.kind === 'agent' && caller.isShared !== true && harnessMode(policy) === 'proxy'
  return isHeld ? caller.session : null
}

/** What it may do and must ask for, in words; what of it means nothing; and what only a person can give it. */
function permissionsOf({ rules, warnings, secrets }: PreparedRun): JsonObject {
  return {
    granted: rules.map(ruleWords),
    ignored: warnings,
    ...(secrets.length === 0 ? {} : { asks_for_secrets: secrets }),
  }
}

/** Names of servers that a directive may write as a resource. */
async function knownServers(lookup: Lookup, { store }: Means): Promise<readonly string[]> {
  await lookup.syncIndex()
  const { hits } = await store.index.search({
    words: [],
    spaces: ['project', 'user', 'builtin', 'registry'],
    roots: lookup.roots,
    itemTypes: ['mcp'],
    toolTypes: [],
    category: null,
    tags: [],
    server: null,
    sortBy: 'name',
    limit: MOST_SERVERS,
  })
  return hits.map(({ item_id: server }) => serverName(server))
}

const MOST_SERVERS = 1000

/** Ends a run with all that were begun in it: whoever began it says when. */
export async function finishWork(
  { runId }: Extract<Wish, { kind: 'finish' }>,
  ticket: Ticket,
  { runs }: Means,
): Promise<Work> {
  const run = await runs.find(runId, ticket.caller.principal)
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
