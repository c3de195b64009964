import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'

/** How often an upstream was started again: one that always ends must not be started all the time. */
export interface Restarts {
  readonly count: number
  readonly areTooMany: boolean
  /** Fails when there were too many within a minute; nothing is counted then. */
  add(id: string, lastError: string | null): void
}

/** Within a minute; then it is left alone. */
const MOST = 5
const MINUTE_MS = 60_000

export function openRestarts(clock: Clock): Restarts {
  const times: number[] = []
  let count = 0
  const areTooMany = (): boolean => {
    const since = clock.monotonic() - MINUTE_MS
    while (times[0] !== undefined && times[0] <= since) times.shift()
    return times.length >= MOST
  }
  return {
    get count() {
      return count
    },
    get areTooMany() {
      return areTooMany()
    },
    add(id, lastError) {
      if (areTooMany()) throw circuitOpen(id, (times[0] ?? 0) + MINUTE_MS - clock.monotonic(), lastError)
      times.push(clock.monotonic())
      count += 1
    },
  }
}

/** Without what could not be done, which is said anyway. */
export function reasonOf(message: string): string {
  return message.replace(/^Cannot (?:use|start) "[^"]*": /, '')
}

function circuitOpen(id: string, waitMs: number, lastError: string | null): KiwiError {
  const wait = Math.max(1, Math.ceil(waitMs / 1000))
  const why = lastError === null ? '' : `: ${reasonOf(lastError)}`
  return new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot start "${id}": it ended too often within a minute${why}`,
    {
      details: { retry_after: wait },
      hint: `Wait ${wait} s, or ask the person to look at the server`,
    },
  )
}
