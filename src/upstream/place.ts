import type { Connection } from './connection.ts'
import type { StarterMeans } from './starter.ts'
import { createStarter } from './starter.ts'
import type { Upstream, UpstreamStatus } from './upstream.ts'

/** Where one upstream is kept up: opened once for all who ask, again when it was lost, closed when nobody uses it. */
export interface Place {
  /** The connection when it is there. */
  readonly open: Connection | null
  /** Opens it, or waits with all others. */
  connect(upstream: Upstream): Promise<Connection>
  /** What was known of its era is wrong. */
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

export function createPlace(means: StarterMeans): Place {
  const { clock } = means
  const starter = createStarter(means)
  let open: Connection | null = null
  let opening: Promise<Connection> | null = null
  let usedAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined

  const start = async (upstream: Upstream): Promise<Connection> => {
    try {
      const connection = await starter.start(upstream)
      open = connection
      usedAt = clock.monotonic()
      void connection.ended.then(() => noteLoss(connection))
      watchIdle(upstream.keepAliveMs)
      return connection
    } finally {
      opening = null
    }
  }

  const noteLoss = (connection: Connection): void => {
    if (open !== connection) return
    clearTimeout(timer)
    open = null
    starter.noteLoss(connection.gone)
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
      return (opening ??= start(upstream))
    },
    async forget(connection) {
      if (open !== connection) return
      starter.forgetEra()
      await close()
    },
    touch() {
      usedAt = clock.monotonic()
    },
    status() {
      const idle = starter.isOut ? 'circuit' : 'closed'
      const state = open?.isOpen === true ? 'open' : opening === null ? idle : 'opening'
      return { state, restarts: starter.restarts, lastError: starter.lastError }
    },
    close,
  }
}
