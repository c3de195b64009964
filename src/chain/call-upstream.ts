import type { RawListing } from '../upstream/list-tools.ts'
import { listTools } from '../upstream/list-tools.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Wire } from '../upstream/wire.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { textOf } from '../shared/template.ts'
import { fillArguments } from '../spaces/definitions/overrides.ts'
import type { Draft } from './draft.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { askedInRounds } from './input-rounds.ts'
import { openWire } from './open-wire.ts'
import type { PerformMeans } from './perform-means.ts'
import type { UpstreamTalk } from './upstream-talk.ts'
import { openTalk } from './upstream-talk.ts'

/** A request to a server, as it goes out. */
export interface RelayedRequest {
  readonly method: string
  readonly params: JsonObject
}

/** What the server gave back, as it is but for live secrets, and what it asked in vain. */
interface Called {
  readonly result: JsonObject
  readonly warnings: readonly string[]
}

/** Calls the tool of a draft, in as many rounds as it takes. */
export async function callTool(
  draft: Draft,
  { toolName, served }: UpstreamDraft,
  means: PerformMeans,
  watch: Watch,
): Promise<Called> {
  if (toolName === null) throw new TypeError('a server was to be called as if it were a tool')
  const { paths, seen, signal } = watch
  const talk = openTalk(watch, draft.redact)
  const meta = {
    ...talk.meta,
    ...(paths === undefined ? {} : { 'kiwi/paths': Object.fromEntries(paths) }),
    ...(paths === undefined || seen === undefined ? {} : { 'kiwi/seen': Object.fromEntries(seen) }),
  }
  const params = {
    name: toolName,
    arguments: fillArguments(draft.plan.item.manifest.config['mcp_arguments'], draft.parameters),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
  const send = (sent: JsonObject): Promise<JsonObject> =>
    speak(draft, { method: 'tools/call', params: sent, ...talk.options }, means, watch)
  const result = await askedInRounds({ from: served.item.id, params, send, ask: talk.ask, signal })
  return { result, warnings: talk.warnings }
}

/** Sends one request to the server of a draft; the result as it came, even where that is what the server wants to know. */
export function relay(
  draft: Draft,
  { method, params }: RelayedRequest,
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  return speak(draft, { method, params, ...openTalk(watch, draft.redact).options }, means, watch)
}

/** Only what it may do twice is done again when a connection is lost. */
async function speak(
  draft: Draft,
  request: RelayedRequest & UpstreamTalk['options'],
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  const effect = upstreamIn(draft)
  const isRepeatable = request.method !== 'tools/call' || draft.plan.isRepeatable
  // Who listens does so until they have heard enough.
  const timeoutMs = request.method === 'subscriptions/listen' ? Infinity : effect.timeoutMs
  const { signal, session: caller } = watch
  return cleanly(draft, () =>
    means.upstreams.request(upstreamOf(effect, means, watch), {
      ...request,
      timeoutMs,
      isRepeatable,
      signal,
      caller,
    }),
  )
}

/** What the server of a draft says of itself, and the key its notices carry. */
export async function describeUpstream(draft: Draft, means: PerformMeans, watch: Watch): Promise<JsonObject> {
  const effect = upstreamIn(draft)
  const described = await cleanly(draft, () =>
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

/** Asks the server of a draft what it has. */
export async function listUpstream(draft: Draft, means: PerformMeans, watch: Watch): Promise<RawListing> {
  const effect = upstreamIn(draft)
  const { timeoutMs } = effect
  const terms = { timeoutMs, signal: watch.signal }
  return cleanly(draft, () => listTools(means.upstreams, upstreamOf(effect, means, watch), terms))
}

function upstreamIn({ effect }: Draft): UpstreamDraft {
  if (effect.kind === 'mcp') return effect
  throw new TypeError('what is no server was to be spoken to')
}

function upstreamOf(draft: UpstreamDraft, means: PerformMeans, watch: Watch): Upstream {
  const { key, identity, startupMs, keepAliveMs, served, isOlder } = draft
  means.listChanges.note(key, identity)
  const open = async (): Promise<Wire> => {
    if (served.trust.launch !== null) await means.keepLaunch(served.trust.launch)
    return openWire(draft, means, watch)
  }
  return {
    id: served.item.id,
    key,
    startupMs,
    keepAliveMs,
    open,
    ...(isOlder ? { prior: { ...OLDER, judgedAt: Date.now() } } : {}),
  }
}

/** Taken for known, so that it is not asked whether it speaks the newer era. */
const OLDER = {
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: {},
  serverInfo: {},
  instructions: null,
} as const

/** What the server cannot say without a secret is told without it. */
async function cleanly<T extends object>({ redact }: Draft, say: () => Promise<T>): Promise<T> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- answers are JSON, and redacting keeps their shape
    return redact((await say()) as unknown as JsonObject) as unknown as T
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    const { code, hint, retryable, details } = error
    throw new KiwiError(code, textOf(redact(error.message)), { hint, retryable, details, cause: error })
  }
}
