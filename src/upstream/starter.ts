import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../shared/clock.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Connection } from './connection.ts'
import { connect } from './connection.ts'
import { EndedOnProbe } from './negotiate.ts'
import { openRestarts, reasonOf } from './restarts.ts'
import type { Description, Upstream } from './upstream.ts'
import type { Wire } from './wire.ts'

export interface StarterMeans {
  readonly clock: Clock
  /** What is waited before the second and the third attempt. */
  readonly waitsMs: readonly number[]
  /** Ends what is being opened. */
  readonly closing: AbortSignal
  readonly onNotice: (id: string, method: string, params: JsonObject) => void
}

/** Opens one upstream again and again, never too often, and remembers how it went. */
export interface Starter {
  start(upstream: Upstream): Promise<Connection>
  /** What was started is lost, and why will be known: the next start is a restart. */
  noteLoss(why: Promise<string>): void
  /** What was known of its era is wrong: it is opened the older way. */
  forgetEra(): void
  readonly restarts: number
  readonly lastError: string | null
  /** It ended too often to be started now. */
  readonly isOut: boolean
}

export function createStarter({ clock, waitsMs, closing, onNotice }: StarterMeans): Starter {
  const restarts = openRestarts(clock)
  let lastError: string | null = null
  let known: Description | null = null
  let isOlder = false
  /** It was lost, or could not be opened. */
  let isBroken = false
  /** What it ended with when it was opened last. */
  let lastExit: number | null = null

  const attempt = async (upstream: Upstream): Promise<Connection> => {
    const { id, startupMs, open } = upstream
    if (isBroken) restarts.add(id, lastError)
    const wasBroken = isBroken
    isBroken = true
    const prior = known ?? (await upstream.prior?.()) ?? null
    const terms = { startupMs, now: clock.now(), prior, isOlder, signal: closing }
    let opened: Wire | null = null
    try {
      const wire = await open()
      opened = wire
      const connection = await connect(id, wire, terms, (method, params) => onNotice(id, method, params))
      isBroken = false
      lastExit = null
      known = connection.description
      if (wasBroken) onNotice(id, 'kiwi/restarted', {})
      return connection
    } catch (error) {
      lastError = messageOf(error)
      const isProbed = error instanceof EndedOnProbe
      isOlder = isProbed || (judgesOlder(error) ?? isOlder)
      // It may only have been the question that it did not stand.
      if (isProbed) return attempt(upstream)
      const before = lastExit
      lastExit = exitOf(error)
      if (lastExit === null || lastExit !== before) throw error
      throw endsAlways(id, error, opened?.said() ?? '')
    }
  }

  return {
    get restarts() {
      return restarts.count
    },
    get lastError() {
      return lastError
    },
    get isOut() {
      return isBroken && restarts.areTooMany
    },
    async start(upstream) {
      for (const waitMs of upstream.waitsMs ?? waitsMs) {
        try {
          return await attempt(upstream)
        } catch (error) {
          if (!isPassing(error) || closing.aborted) throw error
          // One that ended by itself does so again or not: it is not the time that helps.
          const ms = lastExit === null ? waitMs : waitMs / EXIT_HASTE
          await delay(spread(ms), undefined, { signal: closing }).catch(() => {})
        }
      }
      return attempt(upstream)
    },
    noteLoss(why) {
      isBroken = true
      void why.then((reason) => (lastError = reason))
    },
    forgetEra() {
      known = null
      isOlder = true
    },
  }
}

const EXIT_HASTE = 4

function exitOf(error: unknown): number | null {
  const code = error instanceof KiwiError ? error.details['exit_code'] : undefined
  return typeof code === 'number' ? code : null
}

/** Twice in a row, in the same way: a third time would be no other. */
function endsAlways(id: string, error: unknown, said: string): KiwiError {
  const why =
    said.trim() === ''
      ? 'it writes nothing before it ends, so the person looks at its command and arguments'
      : 'details.stderr says what is wrong with it, for the person to correct'
  return new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot start "${id}": ${reasonOf(messageOf(error))}`, {
    retryable: false,
    hint: `Do not repeat it: ${why}`,
    details: { exit_code: exitOf(error) },
    cause: error,
  })
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
