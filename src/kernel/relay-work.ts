import type { Draft } from '../chain/draft.ts'
import type { Performed } from '../chain/perform.ts'
import { askedInRounds } from '../chain/input-rounds.ts'
import { KiwiError } from '../shared/errors.ts'
import { allWithoutHidden } from '../shared/hidden.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Ask, Watch } from '../shared/progress.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import type { RelayOrder, Ticket, Wish, Work } from './call.ts'
import { heldPaths } from './held-paths.ts'
import { othersOf } from './keep-listing.ts'
import type { Means } from './means.ts'
import type { Demand } from './policy/rule.ts'
import { serverName } from '../shared/groups.ts'
import { relisting } from './relisting.ts'
import { runDemands } from './run-demands.ts'
import { runPreview } from './run-preview.ts'
import type { Circumstances, Meant, TrustedPlan } from './run-work.ts'
import { linksOf, redactedBy, trustedPlan } from './run-work.ts'
import { listedOnly, refTo, relayServer } from './relay-server.ts'
import { screenRun } from './screen-run.ts'
import { shownTools } from './shown-tools.ts'

/** A request of a client that sees one server whole: judged and recorded like a run, and passed on as it is. */
export function relayWork(
  { order }: Extract<Wish, { kind: 'relay' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Maybe<Work> {
  const called = order.method === 'tools/call' ? nameIn(order.params) : null
  return after(relayServer(order.server, lookup, means), (server) => {
    const meant: Meant =
      called === null
        ? { ref: refTo(server.item.id), itemType: 'mcp' }
        : { ref: refTo(`${server.name}.${called}`), itemType: 'tool' }
    const among = called === null ? lookup : listedOnly(lookup)
    return after(trustedPlan(meant, among, means, ticket), (trusted) => {
      const { plan, spaceRoot, policy } = trusted
      if (called !== null && plan.items[1]?.id !== server.item.id) throw notFound(meant.ref, 'tool')
      const given = order.params['arguments']
      const drafted = means.chain.draft(plan, {
        callId: ticket.callId,
        principal: ticket.caller.principal,
        session: ticket.caller.session,
        parameters: called === null || !isJsonObject(given) ? {} : given,
        projectPath: lookup.projectPath,
        spaceRoot,
        sandbox: policy.sandbox,
        guardsOwn: ticket.caller.kind === 'agent' ? policy.guardsOwn : null,
        isServerMeant: called === null,
        isOlder: ticket.caller.isOlder,
      })
      return after(drafted, (draft) =>
        workOf({ order, called, server, meant, trusted, draft }, { lookup, ticket, means }),
      )
    })
  })
}

interface Drafted {
  readonly order: RelayOrder
  /** The tool that is called; null for another request. */
  readonly called: string | null
  readonly server: Server
  readonly meant: Meant
  readonly trusted: TrustedPlan
  readonly draft: Draft
}

function workOf(
  { order, called, server, meant, trusted, draft: drafted }: Drafted,
  { lookup, ticket, means }: Circumstances,
): Work {
  const { plan, policy, warnings } = trusted
  const { projectPath } = lookup
  const draft = redactedBy(drafted, means.secrets.redact)
  const id = plan.item.id
  const relisted = relisting(draft, { lookup, means, judge: async () => trustedPlan(meant, lookup, means) })
  return {
    item: { id, version: plan.item.manifest.version, space: plan.item.space },
    action: order.method ?? 'describe',
    chain: linksOf(plan),
    demands: [...demandsOf(draft, order, means), ...heldPaths(draft)],
    isRepeatable: called === null || plan.isRepeatable,
    isReadOnly: called !== null && plan.isReadOnly,
    parameters: called === null ? null : draft.parameters,
    trust: plan.trust.level,
    ...(draft.hold === null ? {} : { heldBy: draft.hold.shown }),
    policy,
    digest: draft.digest,
    redact: draft.redact,
    preview: (isWhole = false) => runPreview(draft, isWhole),
    warnings: [...plan.warnings, ...plan.trust.warnings, ...warnings, ...draft.warnings],
    found: relisted.found,
    perform: (watch = {}) =>
      screenRun({ toolId: id, projectPath }, means, async () => {
        if (order.method !== 'tools/list')
          return screened(server, order, { lookup, means }, () =>
            passOn(draft, order, relisted.watching(watch), means),
          )
        return shownTools(server, policy, { ticket, lookup, means })
      }),
  }
}

/** A rule of a policy names a method as it names a tool: `resources/read` of the server. */
function demandsOf(draft: Draft, { method }: RelayOrder, { own }: Means): readonly Demand[] {
  const [first, ...others] = runDemands(draft, own)
  if (method === 'tools/call' || first?.op !== 'tool') return first === undefined ? [] : [first, ...others]
  const isListing = method === null || method === 'tools/list'
  const of = { server: serverName(draft.plan.item.id), tool: method ?? 'server/discover' }
  return [{ ...first, of, action: isListing ? 'list' : 'run' }, ...others]
}

/** What models read beside results, looked at each time it is said. */
async function screened(
  server: Server,
  { method, params }: RelayOrder,
  { lookup, means }: { readonly lookup: Lookup; readonly means: Means },
  pass: () => Promise<Performed>,
): Promise<Performed> {
  const { relayScreen, log, store } = means
  const { name, key } = server
  relayScreen.assertShown({ server: name, key, method }, params)
  const { data, warnings } = await pass()
  if (method !== null && DATA.has(method)) return { data, warnings }
  const said = { server: name, key, method, result: data }
  const { result, warnings: left } = await relayScreen.screen(said, async () => ({
    own: new Set(await store.catalog.names(key)),
    others: await othersOf(server, lookup, means),
  }))
  for (const reason of left) log.warn('upstream.flagged', { server: name, reason })
  return { data: result, warnings: [...warnings, ...left] }
}

/** What these bring is data, as it came: a file that is read may hold anything. */
const DATA: ReadonlySet<string> = new Set([
  'tools/call',
  'resources/read',
  'tasks/get',
  'tasks/result',
  'completion/complete',
  'subscriptions/listen',
])

async function passOn(draft: Draft, order: RelayOrder, watch: Watch, { chain }: Means): Promise<Performed> {
  const { method, params } = order
  if (method === null) return { data: await chain.describe(draft, watch), warnings: [] }
  if (method.startsWith('notifications/')) {
    await chain.notify(draft, { method, params }, watch)
    return { data: {}, warnings: [] }
  }
  if (draft.effect.kind !== 'mcp') throw new TypeError('what is no server was to be passed on to')
  const { toolName, served } = draft.effect
  const from = served.item.id
  const sent = toolName === null ? params : { ...params, name: toolName, arguments: draft.parameters }
  const send = (round: JsonObject): Promise<JsonObject> =>
    chain.relay(draft, { method, params: round }, watch).catch((error: unknown) => {
      throw asSaid(error)
    })
  const ask = watch.ask ?? refuseToAsk
  if (!order.passesInput) {
    const { signal } = watch
    return { data: await askedInRounds({ from, params: sent, send, ask, signal }), warnings: [] }
  }
  return { data: await guarded(await send(sent), from, ask), warnings: [] }
}

const refuseToAsk: Ask = ({ method }) => {
  throw new KiwiError('PERMISSION_DENIED', `Cannot answer "${method}": nobody can be asked`)
}

/** What goes to the client as a part of the answer, or of a task, is held to the same as what is asked while a call waits. */
async function guarded(result: JsonObject, from: string, ask: Ask): Promise<JsonObject> {
  const { inputRequests } = result
  if (inputRequests === undefined) return result
  if (!isJsonObject(inputRequests))
    throw new KiwiError('TOOL_FAILED', `Cannot use "${from}": what it asks for cannot be read`)
  const passed: [string, JsonObject][] = []
  for (const [key, request] of Object.entries(inputRequests)) {
    const { method, params } = isJsonObject(request) ? request : {}
    if (typeof method !== 'string') continue
    passed.push([key, await ask({ from, method, params: isJsonObject(params) ? params : {} })])
  }
  return { ...result, inputRequests: Object.fromEntries(passed) }
}

/** What the server refused with goes to the client whole. */
function asSaid(error: unknown): unknown {
  const said = error instanceof KiwiError ? error.details['rpc_error'] : undefined
  if (!(error instanceof KiwiError) || !isJsonObject(said)) return error
  const { code, message, hint, retryable, cause } = error
  return new KiwiError(code, message, {
    hint,
    retryable,
    cause,
    partial: { rpc_error: allWithoutHidden(said) },
  })
}

function nameIn({ name }: JsonObject): string {
  if (typeof name === 'string') return name
  throw new KiwiError('INVALID_PARAMETERS', 'Cannot call a tool: it has no name')
}
