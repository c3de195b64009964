import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Stop } from '../shared/stop.ts'
import type { Description, Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/** What an upstream says of itself and which tools it says it has, nothing of them checked. */
export interface RawListing {
  readonly description: Description
  readonly tools: readonly JsonObject[]
  /** What was left out, in words. */
  readonly faults: readonly string[]
}

interface ListTerms {
  /** For all pages together. */
  readonly timeoutMs: number
  readonly signal?: Stop | undefined
}

/** Walks all pages up to the bounds of a listing. What lies beyond them is left out, and what came before it is kept. */
export async function listTools(
  upstreams: Pick<Upstreams, 'describe' | 'request'>,
  upstream: Upstream,
  { timeoutMs, signal }: ListTerms,
): Promise<RawListing> {
  const description = await upstreams.describe(upstream, signal)
  const end = performance.now() + timeoutMs
  const request = async (params: JsonObject): Promise<JsonObject> => {
    const left = Math.max(1, end - performance.now())
    const asked = { method: 'tools/list', params, timeoutMs: left, isRepeatable: true, signal }
    return upstreams.request(upstream, asked).catch((error: unknown) => {
      if (isWithoutTools(description, error)) return {}
      throw error
    })
  }
  const tools: JsonObject[] = []
  const faults: string[] = []
  let bytes = 0
  for await (const { listed, fault } of pagesOf(request)) {
    if (fault !== null) faults.push(fault)
    bytes += Buffer.byteLength(JSON.stringify(listed))
    const objects = listed.filter(isJsonObject)
    if (objects.length < listed.length)
      faults.push(`${listed.length - objects.length} of its tools are no objects`)
    const room = bytes > LIMITS.listedBytes ? 0 : LIMITS.listedTools - tools.length
    tools.push(...objects.slice(0, room))
    if (objects.length <= room) continue
    faults.push(
      `it lists more than ${LIMITS.listedTools} tools or ${LIMITS.listedBytes} bytes: the rest is left out`,
    )
    break
  }
  return { description, tools, faults }
}

interface Page {
  readonly listed: readonly unknown[]
  readonly fault: string | null
}

async function* pagesOf(request: (params: JsonObject) => Promise<JsonObject>): AsyncGenerator<Page> {
  const seen = new Set<string>()
  for (let params: JsonObject | null = {}; params !== null;) {
    const { tools, nextCursor }: JsonObject = await request(params)
    const cursor = typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : null
    const fault = cursor === null ? null : cursorFault(cursor, seen)
    yield { listed: Array.isArray(tools) ? tools : [], fault }
    if (cursor !== null) seen.add(cursor)
    params = cursor === null || fault !== null ? null : { cursor }
  }
}

/** Why the page behind this cursor is not asked for. */
function cursorFault(cursor: string, seen: ReadonlySet<string>): string | null {
  if (seen.has(cursor)) return 'its pages lead back to one that was read'
  return seen.size + 1 >= LIMITS.listedPages ? `it has more than ${LIMITS.listedPages} pages` : null
}

/** One that never said it has tools need not know the question. */
function isWithoutTools({ capabilities }: Description, error: unknown): boolean {
  return capabilities['tools'] === undefined && error instanceof KiwiError && error.code === 'TOOL_FAILED'
}
