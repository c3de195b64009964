import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { openLinger } from '../shared/linger.ts'
import { openAsks } from './asks.ts'
import { paramsOf } from './era.ts'
import { openHearing } from './hear.ts'
import type { Deliver } from './notices.ts'
import { openNotices } from './notices.ts'
import type { Pending } from './pending.ts'
import { cancelled, lost, openPending } from './pending.ts'
import type { Message } from './read-message.ts'
import { readMessage } from './read-message.ts'
import type { Description, UpstreamRequest } from './upstream.ts'
import { CHECK_ADDRESS } from './remote.ts'
import { reasonOf } from './restarts.ts'
import { tellingLine } from './telling-line.ts'
import type { Wire, WireEnd } from './wire.ts'

/** The other end of a wire: any number of requests at once, told apart by their numbers. */
export interface Peer {
  /** How people know it. */
  readonly id: string
  /** Fails with CANCELLED, TIMEOUT, TOOL_FAILED, TOO_DEEP, MESSAGE_TOO_LARGE, UPSTREAM_UNAVAILABLE, OUTCOME_UNKNOWN, or as its wire does. */
  request(request: UpstreamRequest, era?: Description['era']): Promise<JsonObject>
  /** What is only told need not arrive. */
  tell(message: JsonObject): void
  /** False from the moment on that nothing can be asked any more. */
  readonly isOpen: boolean
  /** How many requests wait. */
  readonly waiting: number
  /** Lines that were no messages, and answers that nobody waited for. */
  readonly skipped: number
  /** What it wrote beside its messages and tells most, to stand at the end of a sentence; or ''. */
  readonly lastSaid: () => string
  /** Kept when nothing more comes. */
  readonly ended: Promise<void>
  /** Kept when the other end is gone, with why, in words. */
  readonly gone: Promise<string>
  close(): Promise<void>
}

const END_MS = 500
/** After so many messages that nobody asked for, everybody else has a turn. */
const UNASKED_A_TURN = 16
/** After so many, the upstream waits a moment: it must not take all our time. */
const UNASKED = 256
const UNASKED_PAUSE_MS = 10

/** `onNotice` hears what belongs to no request. */
export function openPeer(id: string, wire: Wire, onNotice: Deliver): Peer {
  const pending = openPending(id)
  const notices = openNotices()
  let skipped = 0
  let isOpen = true
  const linger = openLinger()

  const send = (message: JsonObject): Promise<void> => wire.send({ jsonrpc: '2.0', ...message })
  const tell = (message: JsonObject): void => void send(message).catch(() => {})
  const asks = openAsks({ id, pending, reply: tell })
  const hear = openHearing({ id, pending, asks, notices, onNotice })

  /** Says whether it answers something. */
  const take = (message: Message | null): boolean => {
    if (message?.kind === 'notice') hear(message)
    else if (message?.kind === 'request') asks.take(message)
    else if (message !== null && pending.settle(message)) {
      linger.end()
      return true
    } else skipped += 1
    return false
  }

  const read = async (): Promise<void> => {
    let unasked = 0
    try {
      for await (const text of wire.messages) {
        if (take(readMessage(text)) || ++unasked % UNASKED_A_TURN !== 0) continue
        await (unasked % UNASKED === 0 ? delay(UNASKED_PAUSE_MS) : nextTurn())
      }
    } catch {
      // A wire that fails has ended, and its end says why.
    }
    isOpen = false
    asks.close()
    notices.close()
  }
  const ended = read()
  const lastSaid = (): string => lineSaid(wire)
  const gone = ended.then(() => finish(wire, pending))

  return {
    id,
    get isOpen() {
      return isOpen
    },
    get waiting() {
      return pending.size
    },
    get skipped() {
      return skipped
    },
    ended,
    gone,
    tell,
    lastSaid,
    async request(request, era = 'legacy') {
      if (request.signal?.aborted === true) throw cancelled(id)
      if (!isOpen) throw unsent(id)
      const letting = wire.isOnePipe === true ? null : new AbortController()
      const asked = pending.add(request, (reason) => {
        letting?.abort()
        tell({ method: 'notifications/cancelled', params: { requestId: asked.number, reason } })
      })
      const { number, answer, fail } = asked
      const { method, headers } = request
      const message = { jsonrpc: '2.0', id: number, method, params: paramsOf(era, request, number) }
      wire
        .send(message, letting?.signal, headers)
        .catch((error: unknown) => fail(sendFailure(id, error, request)))
      linger.begin()
      return answer
    },
    async close() {
      isOpen = false
      await wire.close()
      await gone
    },
  }
}

/** One that closes its output and lives on is of no more use; nobody waits until it is gone. */
async function finish(wire: Wire, pending: Pending): Promise<string> {
  const closed = wire.close()
  const late: WireEnd = { reason: 'it closed its output', isTooLarge: false }
  const { reason, ...end } = await Promise.race([closed, delay(END_MS, late, { ref: false })])
  // What it wrote is not why somebody killed it.
  const why = reason.endsWith('SIGKILL') ? reason : reason + lineSaid(wire)
  pending.loseAll({ why, ...end })
  await closed
  return why
}

function lineSaid(wire: Wire): string {
  const line = tellingLine(wire.said())
  return line === '' ? '' : `: ${line}`
}

/** What could not be handed over was not asked; of what was, nobody knows. */
function sendFailure(id: string, error: unknown, { isRepeatable }: UpstreamRequest): KiwiError {
  if (!(error instanceof KiwiError)) return unsent(id, error)
  if (error.code !== 'OUTCOME_UNKNOWN' || !isRepeatable) return error
  return lost(id, { why: reasonOf(error.message), isTooLarge: false, isRepeatable, hint: CHECK_ADDRESS })
}

function unsent(id: string, cause?: unknown): KiwiError {
  return new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it has ended`, { cause })
}
