import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { paramsOf } from './era.ts'
import type { Terms } from './negotiate.ts'
import { discover, negotiate } from './negotiate.ts'
import type { Deliver } from './notices.ts'
import type { Peer } from './peer.ts'
import { openPeer } from './peer.ts'
import type { Description, UpstreamRequest } from './upstream.ts'
import type { Wire } from './wire.ts'

/** Nothing was sent: what is known of the upstream is not what it lists over this connection. */
export class NotListed extends Error {}

/** One upstream that is up, and known. */
export interface Connection {
  readonly description: Description
  /** What its tools are known by, as they were listed over it; null until then, and when it says that they changed. */
  listed: string | null
  request(request: UpstreamRequest): Promise<JsonObject>
  notify(method: string, params: JsonObject): void
  /** Whether a refusal came because it is of another era than was taken for granted. */
  isMisjudged(error: unknown): Promise<boolean>
  readonly isOpen: boolean
  readonly waiting: number
  readonly skipped: number
  readonly ended: Promise<void>
  readonly gone: Promise<string>
  close(): Promise<void>
}

/** `id` is how people know the upstream. One that cannot be spoken to is ended. */
export async function connect(id: string, wire: Wire, terms: Terms, onNotice: Deliver): Promise<Connection> {
  let connection: Connection | null = null
  const peer = openPeer(id, wire, (method, params) => {
    if (connection !== null && method === LIST_CHANGED) connection.listed = null
    onNotice(method, params)
  })
  const { signal } = terms
  const stop = (): void => void peer.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) throw closingError(id)
    const description = await negotiate(peer, terms)
    wire.agree(description.protocol)
    if (description.era === 'legacy') peer.tell({ method: 'notifications/initialized' })
    else listen(peer, description)
    connection = connectionOf(peer, description, description === terms.prior)
    return connection
  } catch (error) {
    await peer.close()
    throw whyNot(peer, error)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const LIST_CHANGED = 'notifications/tools/list_changed'

export function closingError(id: string): KiwiError {
  return new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": Kiwi is closing`)
}

/** What was wrong with a request that opens is wrong with the upstream. */
function whyNot({ id, skipped, lastSaid }: Peer, error: unknown): unknown {
  if (!(error instanceof KiwiError)) return error
  const extras = { cause: error, retryable: false }
  if (error.code === 'TOOL_FAILED') return new KiwiError('UPSTREAM_UNAVAILABLE', error.message, extras)
  if (error.code !== 'TIMEOUT') return error
  const noise = skipped === 0 ? '' : `; it wrote ${skipped} lines that are no messages`
  return new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot start "${id}": it does not answer${noise}${lastSaid()}`,
    {
      ...extras,
      hint: 'Check its command or address, and give it more time with startup_timeout if it needs that',
    },
  )
}

function connectionOf(peer: Peer, description: Description, isAssumed: boolean): Connection {
  const { era } = description
  let isProven = !isAssumed || era === 'legacy'
  return {
    description,
    listed: null,
    async request(request) {
      const result = await peer.request(request, era)
      isProven = true
      return result
    },
    notify: (method, params) => peer.tell({ method, params }),
    async isMisjudged(error) {
      if (isProven || !(error instanceof KiwiError) || error.code !== 'TOOL_FAILED') return false
      isProven = await isModern(peer)
      return !isProven
    },
    get isOpen() {
      return peer.isOpen
    },
    get waiting() {
      return peer.waiting
    },
    get skipped() {
      return peer.skipped
    },
    ended: peer.ended,
    gone: peer.gone,
    close: () => peer.close(),
  }
}

const PROBE_MS = 5000

async function isModern(peer: Peer): Promise<boolean> {
  try {
    return (await discover(peer, PROBE_MS)) !== null
  } catch {
    return false
  }
}

/** An upstream of the newer era tells of changes only where it was asked to. No request of ours has the number 0. */
function listen(peer: Peer, { era, capabilities: { tools } }: Description): void {
  if (!isJsonObject(tools) || tools['listChanged'] !== true) return
  const wanted = { notifications: { toolsListChanged: true } }
  const request = { method: 'subscriptions/listen', params: wanted, timeoutMs: 0, isRepeatable: true }
  peer.tell({ id: 0, method: request.method, params: paramsOf(era, request, 0) })
}
