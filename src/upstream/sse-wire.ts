import type { HttpClient } from '../primitives/http/http-client.ts'
import type { ServerSentEvent } from '../primitives/http/sse-parser.ts'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { openInbox } from './inbox.ts'
import type { Remote } from './remote.ts'
import { openRemoteLine } from './remote.ts'
import type { Wire, WireEnd } from './wire.ts'

const SEND_MS = 30_000
const OPTIONS = {
  reconnect: false,
  reconnectDelayMs: 0,
  idleTimeoutMs: Number.POSITIVE_INFINITY,
  maxEventBytes: LIMITS.lineBytes,
}

/** The older way over HTTP: one stream brings everything, and its first event says where messages are sent to. */
export async function openSseWire(remote: Remote, httpClient: HttpClient): Promise<Wire> {
  const { id } = remote
  const line = openRemoteLine(remote, httpClient)
  const closing = new AbortController()
  const arriving = line.events({ method: 'GET', timeoutMs: remote.startupMs }, OPTIONS, closing.signal)
  const events = arriving[Symbol.asyncIterator]()
  let address: string
  try {
    address = await addressIn(events, remote)
  } catch (error) {
    closing.abort()
    throw error
  }
  const inbox = openInbox()
  let isOpen = true

  const read = async (): Promise<WireEnd> => {
    let wireEnd: WireEnd = { reason: 'its stream ended', isTooLarge: false }
    try {
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        if (next.value.event === 'message') await inbox.push(next.value.data)
      }
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      wireEnd = { reason: 'the connection broke', isTooLarge: error.code === 'MESSAGE_TOO_LARGE' }
    } finally {
      isOpen = false
      closing.abort()
      inbox.end()
    }
    return wireEnd
  }
  const ended = read()

  return {
    messages: inbox.messages,
    ended,
    agree() {},
    said: () => '',
    async send(message, signal) {
      if (!isOpen) throw new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it has ended`)
      const body = JSON.stringify({ jsonrpc: '2.0', ...message })
      const headers = { 'content-type': 'application/json' }
      const order = { method: 'POST', url: address, headers, body, timeoutMs: SEND_MS } as const
      const stream = await line.open(order, signal ?? closing.signal)
      stream.close()
      if (!stream.result.success) throw line.refused(stream.result)
    },
    close() {
      closing.abort()
      return ended
    },
  }
}

/** Another origin would get what is meant for this one. */
async function addressIn(
  events: AsyncIterator<ServerSentEvent>,
  { id, url, startupMs }: Remote,
): Promise<string> {
  const first = await within(startupMs, events.next(), id)
  if (first.done === true || first.value.event !== 'endpoint' || !URL.canParse(first.value.data, url)) {
    throw new KiwiError(
      'UPSTREAM_UNAVAILABLE',
      `Cannot use "${id}": it does not say where messages are sent to`,
      {
        hint: 'Set the transport of the server to http: it may speak the newer way',
      },
    )
  }
  const address = new URL(first.value.data, url)
  if (address.origin === new URL(url).origin) return address.href
  throw new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot use "${id}": it wants its messages sent to another origin`,
  )
}

async function within<T>(ms: number, work: Promise<T>, id: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const message = `Cannot use "${id}": it does not answer within ${ms / 1000} s`
    timer = setTimeout(() => reject(new KiwiError('UPSTREAM_UNAVAILABLE', message)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
