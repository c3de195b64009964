import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Asks } from './asks.ts'
import { addresseeIn } from './callers.ts'
import type { Deliver, Notices } from './notices.ts'
import type { InFlight, Pending } from './pending.ts'
import type { Told } from './read-message.ts'

interface HearMeans {
  /** How people know the upstream. */
  readonly id: string
  readonly pending: Pending
  readonly asks: Asks
  readonly notices: Notices
  /** Hears what belongs to no request. */
  readonly onNotice: Deliver
}

/** Of one request within a second; what is more would only be skipped by whoever looks at it. */
const MOST_A_SECOND = 50
const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'
/** These belong to the call that is being made, though they do not say so. */
const OF_CALLS: ReadonlySet<string> = new Set(['notifications/message', 'notifications/elicitation/complete'])

/** Brings what an upstream tells to whoever it is for. */
export function openHearing({ id, pending, asks, notices, onNotice }: HearMeans): (told: Told) => void {
  const paces = new WeakMap<InFlight, Pace>()

  /** The last one of a flood is kept until there is room, or the answer comes. */
  const inPace = (to: InFlight, deliver: () => void): void => {
    const pace = paces.get(to) ?? startPace(to)
    if (Date.now() - pace.since >= 1000) Object.assign(pace, { since: Date.now(), count: 0 })
    if (++pace.count > MOST_A_SECOND) {
      pace.held = deliver
      return
    }
    pace.held = null
    deliver()
  }
  const startPace = (to: InFlight): Pace => {
    const pace: Pace = { since: Date.now(), count: 0, held: null }
    paces.set(to, pace)
    to.endings.add(() => {
      pace.held?.()
      pace.held = null
    })
    return pace
  }

  const tell = (to: InFlight, method: string, params: JsonObject): void =>
    unharmed(() => to.request.tell?.({ from: id, method, params }))

  return ({ method, params }) => {
    if (method === 'notifications/cancelled') return asks.cancel(params['requestId'])
    if (method === 'notifications/progress') {
      const { progressToken: token, ...progress } = params
      const to = typeof token === 'number' ? pending.get(token) : undefined
      if (to !== undefined) inPace(to, () => unharmed(() => to.request.progress?.(progress)))
      return
    }
    if (OF_CALLS.has(method)) {
      const { asked } = addresseeIn(pending, ({ request }) => request.tell !== undefined)
      if (asked !== null) inPace(asked, () => tell(asked, method, params))
      return
    }
    const meta = params['_meta']
    const number = isJsonObject(meta) ? meta[SUBSCRIPTION_KEY] : undefined
    const subscriber = typeof number === 'number' ? pending.get(number) : undefined
    notices.add(
      method,
      params,
      subscriber === undefined ? onNotice : (name, given) => tell(subscriber, name, given),
    )
  }
}

/** Who listens badly must not end the connection for all others. */
export function unharmed(deliver: () => void): void {
  try {
    deliver()
  } catch {
    // It is their own loss.
  }
}

interface Pace {
  since: number
  count: number
  held: (() => void) | null
}
