import type { Clock } from '../shared/clock.ts'

/** Something that is done again and again for as long as somebody waits for it. */
interface Ticking {
  start(): void
  close(): void
}

interface TickMeans {
  readonly isAwaited: () => Promise<boolean>
  readonly tick: () => Promise<void>
  readonly clock: Clock
}

const SHORTEST_MS = 1000
/** Its share of the time is a twentieth: what takes long is done less often. */
const REST = 20

export function openTicking({ isAwaited, tick, clock }: TickMeans): Ticking {
  let timer: NodeJS.Timeout | null = null
  let isClosed = false
  /** Somebody came while it was found out whether anybody waits. */
  let isStarted = false

  const next = async (): Promise<void> => {
    isStarted = false
    if (!(await isAwaited()) && !isStarted) {
      timer = null
      return
    }
    const started = clock.monotonic()
    await tick()
    schedule(Math.max(SHORTEST_MS, REST * (clock.monotonic() - started)))
  }
  const schedule = (delay: number): void => {
    if (isClosed) return
    timer = setTimeout(() => {
      next().catch(() => (timer = null))
    }, delay)
    timer.unref()
  }

  return {
    start() {
      isStarted = true
      if (timer === null) schedule(SHORTEST_MS)
    },
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
