import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/** What an upstream says it has, nothing of it checked. */
export interface RawListing {
  readonly tools: readonly JsonObject[]
}

interface ListTerms {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export async function listTools(
  upstreams: Upstreams,
  upstream: Upstream,
  terms: ListTerms,
): Promise<RawListing> {
  const { tools } = await upstreams.request(upstream, {
    method: 'tools/list',
    params: {},
    isRepeatable: true,
    ...terms,
  })
  return { tools: Array.isArray(tools) ? tools.filter(isJsonObject) : [] }
}
