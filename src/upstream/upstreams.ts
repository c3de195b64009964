import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../shared/clock.ts'
import { systemClock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Stop } from '../shared/stop.ts'
import { realSignal } from '../shared/stop.ts'
import { unlessStopped } from '../shared/unless-stopped.ts'
import type { Connection } from './connection.ts'
import { NotListed, closingError } from './connection.ts'
import { unharmed } from './hear.ts'
import { cancelled } from './pending.ts'
import type { Place } from './place.ts'
import { openPlaces } from './places.ts'
import { reasonOf } from './restarts.ts'
import { isPassing, spread } from './starter.ts'
import type { Description, Upstream, UpstreamNotice, UpstreamRequest, UpstreamStatus } from './upstream.ts'

/** Connections to upstreams: opened by the first call, shared, opened anew when one is lost, closed when idle. */
export interface Upstreams {
  /** The result as it came, `input_required` and `task` too. */
  request(upstream: Upstream, request: UpstreamRequest): Promise<JsonObject>
  /** What it says of itself. Connects. */
  describe(upstream: Upstream, signal?: Stop): Promise<Description>
  /** How to note what the list is known by that came over the connection that is open now. */
  listing(key: string): (hash: string) => void
  /** Keeps it open, though nobody waits for an answer, until the returned function is called. */
  hold(upstream: Upstream): () => void
  /** Tells one that is up; nobody else has to know. */
  notify(upstream: Upstream, method: string, params: JsonObject): void
  /** Each thing of one upstream comes at most once a second. Gives back how to hear no more. */
  onNotice(listener: (notice: UpstreamNotice) => void): () => void
  /** Closes the connection of a key that nobody will use again. */
  release(key: string): Promise<void>
  /** Those that are up, and those that were. */
  status(): readonly UpstreamStatus[]
  close(): Promise<void>
}

export interface UpstreamsOptions {
  readonly clock?: Clock
  /** What is waited before the second and the third attempt; one and two seconds unless given. */
  readonly waitsMs?: readonly number[]
}

const WAITS_MS = [1000, 2000]

export function openUpstreams({ clock = systemClock, waitsMs = WAITS_MS }: UpstreamsOptions = {}): Upstreams {
  const listeners = new Set<(notice: UpstreamNotice) => void>()
  const closing = new AbortController()
  const places = openPlaces({
    clock,
    waitsMs,
    closing: closing.signal,
    onNotice: (notice) => {
      for (const listener of listeners) unharmed(() => listener(notice))
    },
  })

  const connectionTo = async (upstream: Upstream, place: Place, signal?: Stop): Promise<Connection> => {
    if (closing.signal.aborted) throw closingError(upstream.id)
    const connect = (): Promise<Connection> => {
      const opening = place.connect(upstream)
      places.makeRoom()
      return opening
    }
    return unlessStopped(connect, signal, () => cancelled(upstream.id))
  }

  return {
    async request(upstream, request) {
      const place = places.of(upstream)
      const waits = upstream.waitsMs ?? waitsMs
      let startedAt = 0
      for (let attempt = 0; ; attempt++) {
        const connection = place.open ?? (await connectionTo(upstream, place, request.signal))
        const { listed } = request
        if (listed !== undefined && listed !== connection.listed) throw new NotListed(upstream.id)
        place.touch()
        try {
          if (attempt > 0) return await connection.request(inTheRest(request, clock.monotonic() - startedAt))
          startedAt = clock.monotonic()
          return await connection.request(request)
        } catch (error) {
          if (await connection.isMisjudged(error)) await place.forget(connection)
          else if (!isPassing(error) || attempt >= waits.length) throw error
          else {
            request.onResend?.(reasonOf(messageOf(error)))
            // One that is gone is opened at once; one that takes nothing gets a moment, unless it is found to be gone.
            if (connection.isOpen) await waitFor(connection, spread(waits[attempt] ?? 0), request.signal)
          }
        } finally {
          place.touch()
        }
      }
    },
    async describe(upstream, signal) {
      const place = places.of(upstream)
      return (place.open ?? (await connectionTo(upstream, place, signal))).description
    },
    listing(key) {
      const connection = places.known(key)?.open ?? null
      return (hash) => void (connection !== null && (connection.listed = hash))
    },
    hold: (upstream) => places.of(upstream).hold(),
    notify: ({ key }, method, params) => places.known(key)?.open?.notify(method, params),
    onNotice(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    release: (key) => places.release(key),
    status: () => places.all().map(({ key, id, place }) => ({ key, id, ...place.status() })),
    async close() {
      closing.abort()
      await places.close()
    },
  }
}

/** Sending it again takes no more time than it was given. */
function inTheRest(request: UpstreamRequest, spentMs: number): UpstreamRequest {
  return { ...request, timeoutMs: Math.max(request.timeoutMs - spentMs, 1) }
}

/** Whoever cancels hears of it from what comes next. */
async function waitFor({ ended }: Connection, ms: number, signal?: Stop): Promise<void> {
  const enough = new AbortController()
  const given = signal === undefined ? enough.signal : AbortSignal.any([realSignal(signal), enough.signal])
  await Promise.race([ended, delay(ms, undefined, { signal: given }).catch(() => {})])
  enough.abort()
}
