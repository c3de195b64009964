import type { Clock } from '../shared/clock.ts'
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
  /** Somebody has begun something in it and comes back: until then it is not idle. Gives back how to let go. */
  hold(): () => void
  /** When it was last used, by the monotonic clock. */
  readonly usedAt: number
  /** It is open, or being opened. */
  readonly isTaken: boolean
  /** Nobody waits for it, nor for its start. */
  readonly isIdle: boolean
  status(): Pick<UpstreamStatus, 'state' | 'restarts' | 'lastError'>
  close(): Promise<void>
}

/** However short it is kept, it is not looked at more often. */
const SHORTEST_LOOK_MS = 10

export function createPlace(means: StarterMeans): Place {
  const { clock } = means
  const starter = createStarter(means)
  let open: Connection | null = null
  let opening: Promise<Connection> | null = null
  const use = openUse(clock)
  let timer: NodeJS.Timeout | undefined

  const start = async (upstream: Upstream): Promise<Connection> => {
    try {
      const connection = await starter.start(upstream)
      open = connection
      use.touch()
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
      const isUsed = open.waiting > 0 || use.isHeld
      if (isUsed) use.touch()
      if (isUsed || clock.monotonic() - use.at < keepAliveMs) watchIdle(keepAliveMs)
      else void close()
    }
    const leftMs = use.at + keepAliveMs - clock.monotonic()
    timer = setTimeout(check, Math.max(leftMs, SHORTEST_LOOK_MS)).unref()
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
      return use.at
    },
    get isTaken() {
      return open !== null || opening !== null
    },
    get isIdle() {
      return opening === null && !use.isHeld && (open === null || open.waiting === 0)
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
    touch: use.touch,
    hold: use.hold,
    status() {
      const idle = starter.isOut ? 'circuit' : 'closed'
      const state = open?.isOpen === true ? 'open' : opening === null ? idle : 'opening'
      return { state, restarts: starter.restarts, lastError: starter.lastError }
    },
    close,
  }
}

/** When it was last used, and whether somebody comes back to it. */
interface Use {
  readonly at: number
  readonly isHeld: boolean
  readonly touch: () => void
  readonly hold: () => () => void
}

function openUse(clock: Clock): Use {
  let at = clock.monotonic()
  let held = 0
  const touch = (): void => {
    at = clock.monotonic()
  }
  return {
    get at() {
      return at
    },
    get isHeld() {
      return held > 0
    },
    touch,
    hold() {
      held += 1
      return () => {
        held -= 1
        touch()
      }
    },
  }
}
