import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { permissionsIn } from '../spaces/directive-text.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { itemDemand } from './item-demand.ts'
import type { Means } from './means.ts'
import { serverName } from '../shared/groups.ts'
import { ruleWords } from './policy/rule-words.ts'
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
  const { tool_type: type, executor, config, category, version, description } = manifest
  const { content, permissions } = await permissionsIn(plan.item)
  const { projectPath } = lookup
  const run = await means.runs.prepare({
    kind: 'run',
    parent: ticket.runId ?? null,
    principal: ticket.caller.principal,
    directive: id,
    // Without any it may do nothing: it does not start from what others may.
    permissions: permissions ?? '<permissions/>',
    servers: permissions === null ? [] : await knownServers(lookup, means),
    projectPath,
    tools: null,
  })
  const shown: JsonObject = {
    directive: { name: id, version, description },
    content,
    inputs: wish.parameters,
    permissions: permissionsOf(run),
  }
  return {
    item: { id, version, space },
    action: 'run',
    chain: linksOf(plan),
    demands: [itemDemand({ id, type, space, executor, config, category }), { op: 'spawn', directive: id }],
    isRepeatable: true,
    isReadOnly: false,
    status: 'ready',
    parameters: wish.parameters,
    trust: plan.trust.level,
    policy,
    digest: sha256(canonicalJson({ chain: plan.digest, content: contentHash })),
    redact: keepAll,
    preview: () => shown,
    warnings: [
      ...plan.warnings,
      ...plan.trust.warnings,
      ...(config['permissions'] === undefined
        ? []
        : ['"permissions" of the front matter is not read yet: it grants nothing']),
    ],
    async perform() {
      const runId = await run.open()
      const more = projectPath === null ? {} : { project_path: projectPath }
      const call: JsonObject = { item_type: 'tool', action: 'run', item_id: '<tool>', parameters: {} }
      return {
        data: {
          run_id: runId,
          ...shown,
          call_format: { ...call, run_id: runId, ...more },
          finish: { item_type: 'directive', action: 'finish', item_id: runId },
        },
        warnings: [],
      }
    },
  }
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
  const { id, directive } = await runs.find(runId, ticket.caller.principal)
  const shown: JsonObject = { run_id: id, directive }
  return {
    item: { id, version: null, space: null },
    action: 'finish',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'finish' }],
    isRepeatable: true,
    isReadOnly: false,
    endsRun: true,
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
