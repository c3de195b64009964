import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../shared/clock.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Connection } from './connection.ts'
import { connect } from './connection.ts'
import { EndedOnProbe } from './negotiate.ts'
import { openRestarts } from './restarts.ts'
import type { Description, Upstream, UpstreamStatus } from './upstream.ts'

export interface PlaceMeans {
  readonly clock: Clock
  /** What is waited before the second and the third attempt to connect. */
  readonly waitsMs: readonly number[]
  /** Ends what is being opened. */
  readonly closing: AbortSignal
  readonly onNotice: (id: string, method: string, params: JsonObject) => void
}

/** Where one upstream is kept up: opened once for all who ask, again when it was lost, never too often. */
export interface Place {
  /** The connection when it is there. */
  readonly open: Connection | null
  /** Opens it, or waits with all others. */
  connect(upstream: Upstream): Promise<Connection>
  /** What was known of its era is wrong: it is opened the older way. */
  forget(connection: Connection): Promise<void>
  /** Somebody uses it. */
  touch(): void
  /** When it was last used, by the monotonic clock. */
  readonly usedAt: number
  /** It is open, or being opened. */
  readonly isTaken: boolean
  /** Nobody waits for it, nor for its start. */
  readonly isIdle: boolean
  status(): Pick<UpstreamStatus, 'state' | 'restarts' | 'lastError'>
  close(): Promise<void>
}

export function createPlace({ clock, waitsMs, closing, onNotice }: PlaceMeans): Place {
  const restarts = openRestarts(clock)
  let lastError: string | null = null
  let open: Connection | null = null
  let opening: Promise<Connection> | null = null
  let known: Description | null = null
  /** It was lost, or could not be opened: opening it is a restart. */
  let isBroken = false
  let isOlder = false
  let usedAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined

  const attempt = async (upstream: Upstream): Promise<Connection> => {
    const { id, startupMs, open: openWire } = upstream
    if (isBroken) restarts.add(id, lastError)
    const wasBroken = isBroken
    isBroken = true
    const prior = known ?? upstream.prior ?? null
    const terms = { startupMs, now: clock.now(), prior, isOlder, signal: closing }
    try {
      const connection = await connect(id, await openWire(), terms, (method, params) => onNotice(id, method, params))
      isBroken = false
      keep(upstream, connection)
      if (wasBroken) onNotice(id, 'kiwi/restarted', {})
      return connection
    } catch (error) {
      lastError = messageOf(error)
      if (!(error instanceof EndedOnProbe)) {
        isOlder = judgesOlder(error) ?? isOlder
        throw error
      }
      isOlder = true
      return attempt(upstream)
    }
  }

  /** What a moment may mend is tried again. */
  const attempts = async (upstream: Upstream): Promise<Connection> => {
    for (const waitMs of waitsMs) {
      try {
        return await attempt(upstream)
      } catch (error) {
        if (!isPassing(error) || closing.aborted) throw error
        await delay(spread(waitMs), undefined, { signal: closing }).catch(() => {})
      }
    }
    return attempt(upstream)
  }

  const keep = (upstream: Upstream, connection: Connection): void => {
    open = connection
    known = connection.description
    usedAt = clock.monotonic()
    void mourn(connection)
    watchIdle(upstream.keepAliveMs)
  }

  const noteLoss = (connection: Connection): void => {
    if (open !== connection) return
    clearTimeout(timer)
    open = null
    isBroken = true
  }

  const mourn = async (connection: Connection): Promise<void> => {
    await connection.ended
    noteLoss(connection)
    lastError = await connection.gone
  }

  const watchIdle = (keepAliveMs: number): void => {
    const check = (): void => {
      if (open === null) return
      if (open.waiting > 0) usedAt = clock.monotonic()
      if (clock.monotonic() - usedAt < keepAliveMs) watchIdle(keepAliveMs)
      else void close()
    }
    timer = setTimeout(check, Math.max(usedAt + keepAliveMs - clock.monotonic(), 1)).unref()
  }

  const close = async (): Promise<void> => {
    clearTimeout(timer)
    const closed = open ?? (await opening?.catch(() => null)) ?? null
    clearTimeout(timer)
    open = null
    await closed?.close()
  }

  return {
    get open() {
      return open?.isOpen === true ? open : null
    },
    get usedAt() {
      return usedAt
    },
    get isTaken() {
      return open !== null || opening !== null
    },
    get isIdle() {
      return opening === null && (open === null || open.waiting === 0)
    },
    connect(upstream) {
      if (open !== null) noteLoss(open)
      opening ??= attempts(upstream).finally(() => {
        opening = null
      })
      return opening
    },
    async forget(connection) {
      if (open !== connection) return
      isOlder = true
      known = null
      await close()
    },
    touch() {
      usedAt = clock.monotonic()
    },
    status() {
      const isOut = isBroken && restarts.areTooMany
      const idle = isOut ? 'circuit' : 'closed'
      const state = open?.isOpen === true ? 'open' : opening === null ? idle : 'opening'
      return { state, restarts: restarts.count, lastError }
    },
    close,
  }
}

/** Many that lost the same server do not come back at the same moment. */
export function spread(waitMs: number): number {
  return waitMs * (0.75 + Math.random() / 2)
}

/** Whether something was not there that may be in a moment. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof KiwiError) || error.code !== 'UPSTREAM_UNAVAILABLE') return false
  return error.retryable && error.details['retry_after'] === undefined
}

/** One that was silent may only know the older way; one that refused it does not know that. */
function judgesOlder(error: unknown): boolean | null {
  const cause = error instanceof KiwiError ? error.cause : null
  if (!(cause instanceof KiwiError)) return null
  return cause.code === 'TIMEOUT' ? true : cause.code === 'TOOL_FAILED' ? false : null
}
