import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../shared/clock.ts'
import { systemClock } from '../shared/clock.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Connection } from './connection.ts'
import { closingError } from './connection.ts'
import { cancelled } from './pending.ts'
import type { Place } from './place.ts'
import { createPlace } from './place.ts'
import { isPassing, spread } from './starter.ts'
import type { Description, Upstream, UpstreamNotice, UpstreamRequest, UpstreamStatus } from './upstream.ts'

/** Connections to upstreams: opened by the first call, shared, opened anew when one is lost, closed when idle. */
export interface Upstreams {
  /** The result as it came, `input_required` and `task` too. */
  request(upstream: Upstream, request: UpstreamRequest): Promise<JsonObject>
  /** What it says of itself. Connects. */
  describe(upstream: Upstream, signal?: AbortSignal): Promise<Description>
  /** Tells one that is up; nobody else has to know. */
  notify(upstream: Upstream, method: string, params: JsonObject): void
  /** Each thing of one upstream comes at most once a second. Gives back how to hear no more. */
  onNotice(listener: (notice: UpstreamNotice) => void): () => void
  /** Those that are up, and those that were. */
  status(): readonly UpstreamStatus[]
  close(): Promise<void>
}

export interface UpstreamsOptions {
  readonly clock?: Clock
  /** What is waited before the second and the third attempt; one and two seconds unless given. */
  readonly waitsMs?: readonly number[]
}

/** Beyond it those that nobody uses are closed, the longest unused first. */
const MOST_CONNECTIONS = 32
/** Of those that are closed as many are remembered. */
const MOST_PLACES = 256
const WAITS_MS = [1000, 2000]

export function openUpstreams({ clock = systemClock, waitsMs = WAITS_MS }: UpstreamsOptions = {}): Upstreams {
  const places = new Map<string, Known>()
  const listeners = new Set<(notice: UpstreamNotice) => void>()
  const closing = new AbortController()
  const closes = new Set<Promise<void>>()

  const placeOf = ({ id, key }: Upstream): Place => {
    const known = places.get(key)
    if (known !== undefined) return known.place
    const onNotice = (from: string, method: string, params: JsonObject): void => {
      for (const listener of listeners) listener({ key, id: from, method, params })
    }
    const place = createPlace({ clock, waitsMs, closing: closing.signal, onNotice })
    places.set(key, { id, place })
    return place
  }

  const makeRoom = (): void => {
    const all = [...places].toSorted(([, a], [, b]) => a.place.usedAt - b.place.usedAt)
    let tooMany = all.filter(([, { place }]) => place.isTaken).length - MOST_CONNECTIONS
    let unknown = all.length - MOST_PLACES
    for (const [key, { place }] of all) {
      if (place.isTaken && (tooMany <= 0 || !place.isIdle)) continue
      if (place.isTaken) {
        tooMany -= 1
        const closed = place.close().finally(() => closes.delete(closed))
        closes.add(closed)
      } else if (unknown-- > 0) places.delete(key)
    }
  }

  const connectionTo = async (
    upstream: Upstream,
    place: Place,
    signal?: AbortSignal,
  ): Promise<Connection> => {
    if (closing.signal.aborted) throw closingError(upstream.id)
    const opening = place.connect(upstream)
    makeRoom()
    return unlessCancelled(opening, upstream.id, signal)
  }

  return {
    async request(upstream, request) {
      const place = placeOf(upstream)
      const startedAt = clock.monotonic()
      for (let attempt = 0; ; attempt++) {
        const connection = place.open ?? (await connectionTo(upstream, place, request.signal))
        place.touch()
        try {
          const leftMs = attempt === 0 ? request.timeoutMs : request.timeoutMs + startedAt - clock.monotonic()
          return await connection.request(
            attempt === 0 ? request : { ...request, timeoutMs: Math.max(leftMs, 1) },
          )
        } catch (error) {
          if (await connection.isMisjudged(error)) await place.forget(connection)
          else if (!isPassing(error) || attempt >= waitsMs.length) throw error
          // One that is gone is opened at once; one that is there and takes nothing gets a moment.
          else if (connection.isOpen) await delay(spread(waitsMs[attempt] ?? 0))
        } finally {
          place.touch()
        }
      }
    },
    async describe(upstream, signal) {
      const place = placeOf(upstream)
      return (place.open ?? (await connectionTo(upstream, place, signal))).description
    },
    notify: ({ key }, method, params) => places.get(key)?.place.open?.notify(method, params),
    onNotice(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    status: () => Array.from(places, ([key, { id, place }]) => ({ key, id, ...place.status() })),
    async close() {
      closing.abort()
      await Promise.all([...Array.from(places.values(), ({ place }) => place.close()), ...closes])
      places.clear()
    },
  }
}

interface Known {
  readonly id: string
  readonly place: Place
}

/** The start goes on for the others. */
async function unlessCancelled<T>(opening: Promise<T>, id: string, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return opening
  if (signal.aborted) throw cancelled(id)
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(cancelled(id))
    signal.addEventListener('abort', cancel, { once: true })
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel))
  })
}
