import type { RawListing } from '../upstream/list-tools.ts'
import { listTools } from '../upstream/list-tools.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { textOf } from '../shared/template.ts'
import type { Draft } from './draft.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { openWire } from './open-wire.ts'
import type { PerformMeans } from './perform-means.ts'

/** A request to a server, as it goes out. */
export interface RelayedRequest {
  readonly method: string
  readonly params: JsonObject
}

/** Calls the tool of a draft; what the server gives back, as it is but for live secrets. */
export async function callTool(
  draft: Draft,
  { toolName }: UpstreamDraft,
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  if (toolName === null) throw new TypeError('a server was to be called as if it were a tool')
  const { paths, seen } = watch
  const meta = {
    ...(paths === undefined ? {} : { 'kiwi/paths': Object.fromEntries(paths) }),
    ...(paths === undefined || seen === undefined ? {} : { 'kiwi/seen': Object.fromEntries(seen) }),
  }
  const params = {
    name: toolName,
    arguments: draft.parameters,
    ...(paths === undefined ? {} : { _meta: meta }),
  }
  return relay(draft, { method: 'tools/call', params }, means, watch)
}

/** Sends one request to the server of a draft. Only what it may do twice is done again when a connection is lost. */
export async function relay(
  draft: Draft,
  { method, params }: RelayedRequest,
  means: PerformMeans,
  watch: Watch,
): Promise<JsonObject> {
  const effect = upstreamIn(draft)
  const isRepeatable = method !== 'tools/call' || draft.plan.isRepeatable
  const { timeoutMs } = effect
  return cleanly(draft, () =>
    means.upstreams.request(upstreamOf(effect, means, watch), {
      method,
      params,
      timeoutMs,
      isRepeatable,
      signal: watch.signal,
      ask: watch.ask,
      tell: watch.tell,
    }),
  )
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
  const { key, startupMs, keepAliveMs, served } = draft
  return { id: served.item.id, key, startupMs, keepAliveMs, open: () => openWire(draft, means, watch) }
}

/** What the server cannot say without a secret is told without it. */
async function cleanly<T extends object>({ redact }: Draft, speak: () => Promise<T>): Promise<T> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- answers are JSON, and redacting keeps their shape
    return redact((await speak()) as unknown as JsonObject) as unknown as T
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    const { code, hint, retryable, details } = error
    throw new KiwiError(code, textOf(redact(error.message)), { hint, retryable, details, cause: error })
  }
}
