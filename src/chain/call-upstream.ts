import { NotListed } from '../upstream/connection.ts'
import type { RawListing } from '../upstream/list-tools.ts'
import { listTools } from '../upstream/list-tools.ts'
import { parameterHeaders } from '../upstream/message-headers.ts'
import type { Upstream, UpstreamRequest } from '../upstream/upstream.ts'
import type { Wire } from '../upstream/wire.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Watch } from '../shared/progress.ts'
import { addressRequired } from './address-required.ts'
import type { Draft } from './draft.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { askedInRounds } from './input-rounds.ts'
import { openWire } from './open-wire.ts'
import type { PerformMeans } from './perform-means.ts'
import { redacted } from './redacted.ts'
import { relayable } from './relayable.ts'
import type { Failing } from './upstream-failure.ts'
import { upstreamFailure } from './upstream-failure.ts'
import type { UpstreamTalk } from './upstream-talk.ts'
import { openTalk } from './upstream-talk.ts'
import type { TaskMeans } from './upstream-tasks.ts'
import { runsTasks, whenDone, withTasks } from './upstream-tasks.ts'

/** A request to a server, as it goes out. */
export interface RelayedRequest {
  readonly method: string
  readonly params: JsonObject
}

/** What the server gave back, as it is but for live secrets, and what it asked in vain. */
interface Called extends Pick<UpstreamTalk, 'inVain' | 'warnings'> {
  readonly result: JsonObject
}

/** Calls the tool of a draft, in as many rounds as it takes. */
export async function callTool(
  draft: Draft,
  effect: UpstreamDraft,
  means: PerformMeans,
  watch: Watch,
): Promise<Called> {
  const { toolName, served } = effect
  if (toolName === null) throw new TypeError('a server was to be called as if it were a tool')
  const { paths, seen, signal } = watch
  const talk = openTalk(watch, draft.redact, withTasks)
  const meta: Record<string, JsonValue> = { ...talk.meta }
  if (paths !== undefined) meta['kiwi/paths'] = Object.fromEntries(paths)
  if (paths !== undefined && seen !== undefined) meta['kiwi/seen'] = Object.fromEntries(seen)
  const plain = { name: toolName, arguments: draft.parameters }
  const isOlder = effect.isTask && (await isOlderTask(draft, effect, means, watch))
  const call = isOlder ? { ...plain, task: { ttl: effect.timeoutMs } } : plain
  const params = Object.keys(meta).length === 0 ? call : { _meta: meta, ...call }
  const send = (sent: JsonObject): Promise<JsonObject> =>
    speak(draft, { method: 'tools/call', params: sent, talk: talk.options }, means, watch)
  const { ask } = talk
  const from = served.item.id
  const finish = (result: JsonObject): Promise<JsonObject> | null =>
    whenDone(result, isOlder, () => taskMeans(draft, { effect, isOlder, talk }, means, watch))
  const rounds = { from, ask, signal, params, send, finish }
  const result = await askedInRounds(rounds).catch(async (error: unknown) => {
    throw await addressRequired(error, { from, ask, signal, tool: draft.plan.item.id })
  })
  return { result, inVain: talk.inVain, warnings: talk.warnings }
}

/** Whether a tool that is nothing but a task has to be asked for as one: servers of the newer era make one by themselves. */
async function isOlderTask(
  draft: Draft,
  effect: UpstreamDraft,
  means: PerformMeans,
  watch: Watch,
): Promise<boolean> {
  const tool = draft.plan.item.id
  const { era, capabilities } = await cleanly(draft, { effect, tool }, means, () =>
    means.upstreams.describe(upstreamOf(effect, means, watch), watch.signal),
  )
  return era === 'legacy' && runsTasks(capabilities)
}

interface Tasked {
  readonly effect: UpstreamDraft
  readonly isOlder: boolean
  readonly talk: UpstreamTalk
}

function taskMeans(
  draft: Draft,
  { effect, isOlder, talk }: Tasked,
  means: PerformMeans,
  watch: Watch,
): TaskMeans {
  const { signal, ...unwatched } = watch
  const ask = (method: string, params: JsonObject, by: Watch): Promise<JsonObject> =>
    speak(draft, { method, params, talk: talk.options }, means, by)
  return {
    from: effect.served.item.id,
    timeoutMs: effect.timeoutMs,
    isRepeatable: draft.plan.isRepeatable,
    isOlder,
    ask: talk.ask,
    signal,
    progress: talk.options.progress,
    send: (method, params) => ask(method, params, watch),
    hold: () => means.upstreams.hold(upstreamOf(effect, means, watch)),
    told: (error) =>
      upstreamFailure(error, { effect, tool: draft.plan.item.id }, saidBy(effect, means), draft.redact),
    // Whoever cancelled the call did not cancel this.
    cancel: (params) => void ask('tasks/cancel', params, unwatched).catch(() => {}),
  }
}

/** Sends one request to the server of a draft; the result as it came, even where that is what the server wants to know. */
export async function relay(
  draft: Draft,
  { method, params }: RelayedRequest,
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  const talk = openTalk(watch, draft.redact)
  const request = { method, params: withMeta(params, talk.meta), talk: talk.options }
  return relayable(await speak(draft, request, means, watch), draft.plan.item.id)
}

/** What the client says itself counts more. */
function withMeta(params: JsonObject, meta: JsonObject): JsonObject {
  if (Object.keys(meta).length === 0) return params
  const given = params['_meta']
  return { ...params, _meta: { ...meta, ...(isJsonObject(given) ? given : {}) } }
}

/** Only what it may do twice is done again when a connection is lost. */
async function speak(
  draft: Draft,
  request: RelayedRequest & { readonly talk: UpstreamTalk['options'] },
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  const effect = upstreamIn(draft)
  const { method, params, talk } = request
  const isCall = method === 'tools/call'
  const { signal, waiter, relist, listed } = watch
  const sentOver = (list: string | undefined): UpstreamRequest => ({
    method,
    params,
    headers: headersFor(draft, request),
    // Who listens does so until they have heard enough.
    timeoutMs: method === 'subscriptions/listen' ? Infinity : effect.timeoutMs,
    isRepeatable: !isCall || draft.plan.isRepeatable,
    signal,
    caller: waiter,
    onResend: talk.onResend,
    onRefused: talk.onRefused,
    ask: talk.ask,
    capabilities: talk.capabilities,
    tell: talk.tell,
    progress: talk.progress,
    listed: list,
  })
  const tool = isCall ? draft.plan.item.id : null
  const send = (): Promise<JsonObject> =>
    cleanly(draft, { effect, tool }, means, () =>
      after(isCall ? listed?.() : undefined, (list) =>
        means.upstreams.request(upstreamOf(effect, means, watch), sentOver(list)),
      ),
    )
  for (let tries = 0; tries < MOST_LISTINGS; tries++) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof NotListed)) throw error
      await relist?.()
    }
  }
  throw new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot call a tool of "${effect.served.item.id}": it was lost, or had changed, each time after it had said what it has`,
  )
}

/** How often one server may be lost, or change, between its listing and a call. */
const MOST_LISTINGS = 3

/** What the server of a draft says of itself, and the key its notices carry. */
export async function describeUpstream(draft: Draft, means: PerformMeans, watch: Watch): Promise<JsonObject> {
  const effect = upstreamIn(draft)
  const described = await cleanly(draft, { effect, tool: null }, means, () =>
    means.upstreams.describe(upstreamOf(effect, means, watch), watch.signal),
  )
  return { ...described, key: effect.key }
}

export function notifyUpstream(
  draft: Draft,
  { method, params }: RelayedRequest,
  means: PerformMeans,
  watch: Watch,
): void {
  means.upstreams.notify(upstreamOf(upstreamIn(draft), means, watch), method, params)
}

/** Some arguments of a call are repeated in its headers, where the schema of the tool says so. */
function headersFor({ plan }: Draft, { method, params }: RelayedRequest): Readonly<Record<string, string>> {
  const given = params['arguments']
  const { effect, item } = plan
  const isHttp =
    effect.kind === 'mcp' && effect.server.kind === 'remote' && effect.server.transport === 'http'
  if (!isHttp || method !== 'tools/call' || !isJsonObject(given)) return {}
  return parameterHeaders(item.id, item.manifest.input_schema, given)
}

/** What a server has, and how to note what that is known by: its tools are called over connections that listed the same. */
export type HeardListing = RawListing & { readonly noteKept: (hash: string) => void }

/** Asks the server of a draft what it has. */
export async function listUpstream(draft: Draft, means: PerformMeans, watch: Watch): Promise<HeardListing> {
  const effect = upstreamIn(draft)
  const { timeoutMs } = effect
  const terms = { timeoutMs, signal: watch.signal }
  const upstream = upstreamOf(effect, means, watch)
  let noteKept: ((hash: string) => void) | null = null
  const listing = await cleanly(draft, { effect, tool: null }, means, async () => {
    await means.upstreams.describe(upstream, watch.signal)
    noteKept = means.upstreams.listing(upstream.key)
    return listTools(means.upstreams, upstream, terms)
  })
  return { ...listing, noteKept: (hash) => noteKept?.(hash) }
}

/** Upstreams whose last words are kept. */
const MOST_SAID = 64

function upstreamIn({ effect }: Draft): UpstreamDraft {
  if (effect.kind === 'mcp') return effect
  throw new TypeError('what is no server was to be spoken to')
}

function upstreamOf(draft: UpstreamDraft, means: PerformMeans, watch: Watch): Upstream {
  const { key, identity, startupMs, keepAliveMs, waitsMs, served } = draft
  means.listChanges.note(key, identity)
  const open = async (): Promise<Wire> => {
    const wire = await openWire(draft, means, watch)
    means.said.delete(key)
    means.said.set(key, () => wire.said())
    const [oldest] = means.said.keys()
    if (means.said.size > MOST_SAID && oldest !== undefined) means.said.delete(oldest)
    return wire
  }
  return {
    id: served.item.id,
    key,
    startupMs,
    keepAliveMs,
    waitsMs,
    open,
    prior: () => means.knownEra(draft),
  }
}

/** What the server cannot say without a secret is told without it. */
async function cleanly<T extends object>(
  { redact }: Draft,
  failing: Failing,
  means: PerformMeans,
  say: () => Maybe<T>,
): Promise<T> {
  try {
    return redacted(await say(), redact)
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    throw upstreamFailure(error, failing, saidBy(failing.effect, means), redact)
  }
}

function saidBy({ key }: UpstreamDraft, { said }: PerformMeans): string {
  return said.get(key)?.() ?? ''
}
