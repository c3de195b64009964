import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import type { Report } from '../shared/progress.ts'
import { unlessStopped } from '../shared/unless-stopped.ts'
import type { Item } from '../spaces/item.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Listing } from '../store/catalog.ts'
import type { Arrival, Call, Outcome, Ticket } from './call.ts'
import { listWork } from './list-work.ts'
import type { Means } from './means.ts'

/** Keeps what servers list fresh. Asking one is a call of its own, through the gate. */
export interface Listings {
  /** Whether what is known of a server may still be believed. */
  isCurrent(server: Item, listing: Listing | null): boolean
  /**
   * Asks a server now; those who ask at the same time wait for one answer. Each of them leaves when its own call is
   * cancelled. The asking goes on to its end: others may wait for it, and what is found will be asked for again.
   */
  list(server: Server, asker: Asker): Promise<Outcome>
  /** Asks on the side. */
  refresh(server: Server, asker: Asker): Refresh
  /** What is under way has a moment to end: whoever calls once and goes would never see a server listed. */
  close(): Promise<void>
}

interface Refresh {
  /** Why it is known not to work; null when it is tried. */
  readonly failure: string | null
  /** A first try that somebody may wait for, begun so long ago; null for what was tried before. */
  readonly first: { readonly asking: Promise<Outcome>; readonly forMs: number } | null
}

/** On whose behalf, and with what binds them. */
export interface Asker {
  readonly ticket: Pick<Ticket, 'caller' | 'signal' | 'report'>
  readonly lookup: Lookup
  readonly means: Means
}

interface ListingMeans {
  readonly clock: Clock
  /** The gate. */
  readonly pass: (ticket: Ticket, workOut: Call['workOut']) => Promise<Outcome>
}

const FRESH_SECONDS = 3600
/** How long a server that could not be listed is left alone when nobody waits for it. */
const PAUSE_MS = 60_000
/** Less than a process has for its end. */
const CLOSING_MS = 2500

export function openListings({ clock, pass }: ListingMeans): Listings {
  const underWay = new Map<string, UnderWay>()
  const failed = new Map<string, { readonly at: number; readonly reason: string }>()
  const closing = new AbortController()
  const ask = createAsk({ clock, pass }, closing.signal)

  const join = (server: Server, asker: Asker): UnderWay => {
    const flight = flightOf(server, asker)
    const known = underWay.get(flight)
    if (known !== undefined) {
      known.wanted += 1
      return known
    }
    const reports = new Set<Report>()
    const asking = ask(server, asker, reports)
      .then(
        (outcome) => {
          failed.delete(flight)
          return outcome
        },
        (error: unknown) => {
          if (failed.size >= MOST_FAILED) failed.clear()
          if (!isCancelled(error)) failed.set(flight, { at: clock.monotonic(), reason: messageOf(error) })
          throw error
        },
      )
      .finally(() => underWay.delete(flight))
    const begun = { asking, reports, wanted: 1, at: clock.monotonic() }
    underWay.set(flight, begun)
    return begun
  }

  return {
    isCurrent(server, listing) {
      if (listing === null || listing.listed_at === 0) return false
      const age = clock.now() - listing.listed_at
      return age >= 0 && age < secondsOf(server) * 1000
    },
    list(server, asker) {
      const { signal, report } = asker.ticket
      const listed = async (): Promise<Outcome> => {
        const joined = join(server, asker)
        if (report !== undefined) joined.reports.add(report)
        const leave = (): void => {
          joined.wanted -= 1
          if (report !== undefined) joined.reports.delete(report)
        }
        signal?.addEventListener('abort', leave, { once: true })
        return joined.asking
      }
      return unlessStopped(listed, signal, () => cancelled(server))
    },
    refresh(server, asker) {
      const before = failed.get(flightOf(server, asker))
      if (before !== undefined && clock.monotonic() - before.at < PAUSE_MS)
        return { failure: before.reason, first: null }
      const { asking, at } = join(server, asker)
      // Whoever waits for it later hears why it failed.
      asking.catch(() => undefined)
      const forMs = clock.monotonic() - at
      return { failure: null, first: before === undefined ? { asking, forMs } : null }
    },
    async close() {
      const all = [...underWay.values()]
      // Who has cancelled at a terminal waits for nothing.
      await endedWithin(ended(all.filter(({ wanted }) => wanted > 0)), CLOSING_MS)
      closing.abort(new KiwiError('CANCELLED', 'Cannot list a server: Kiwi is closing'))
      await ended(all)
    },
  }
}

/** One asking, for all who want to know. */
interface UnderWay {
  readonly asking: Promise<Outcome>
  /** Those who hear how far it is. */
  readonly reports: Set<Report>
  /** How many have asked and have not cancelled. */
  wanted: number
  readonly at: number
}

/** What is asked over the connection of one session is answered for that one. */
function ended(all: readonly UnderWay[]): Promise<unknown> {
  return Promise.allSettled(all.map(({ asking }) => asking))
}

function flightOf({ key }: Server, { ticket: { caller } }: Asker): string {
  const { principal, session, isOlder } = caller
  return isOlder === true ? `${key} ${principal} ${session}` : `${key} ${principal}`
}

function cancelled({ name }: Server): KiwiError {
  return new KiwiError('CANCELLED', `Cannot list "${name}": the call was cancelled`)
}

/** It says nothing of the server. */
function isCancelled(error: unknown): boolean {
  return error instanceof KiwiError && error.code === 'CANCELLED'
}

/** Asking is a call of its own, which goes on when its asker is gone. */
function createAsk(
  { clock, pass }: ListingMeans,
  closing: AbortSignal,
): (server: Server, asker: Asker, reports: ReadonlySet<Report>) => Promise<Outcome> {
  const ids = createIds(() => clock.now())
  return async (server, { ticket: { caller }, lookup, means }, reports): Promise<Outcome> => {
    const asked: Ticket = {
      callId: ids(),
      operation: 'mcp.list',
      subject: server.item.id,
      parameters: {},
      caller,
      signal: closing,
      report: (progress) => {
        for (const report of reports) report(progress)
      },
    }
    return pass(asked, async (call): Promise<Arrival> => {
      call.projectPath = lookup.projectPath
      const { list, ...work } = await listWork(server, lookup, asked, means)
      const perform: Arrival['work']['perform'] = async (watch) => {
        const { listing, tools, warnings } = await list(watch)
        const listed = tools.filter(({ state }) => state !== 'missing').length
        return { data: { mcp: server.name, tools: listed, hash: listing.hash }, warnings }
      }
      // A question to a person that nobody has asked for would only be in their way.
      return {
        work: { ...work, ifAsked: 'refuse', perform },
        projectPath: lookup.projectPath,
        isDryRun: false,
      }
    })
  }
}

/** The same on behalf of one call. */
export interface BoundListings {
  isCurrent(server: Server): Promise<boolean>
  list(server: Server): Promise<Outcome>
  refresh(server: Server): Refresh
}

export function boundListings(listings: Listings, asker: Asker): BoundListings {
  return {
    isCurrent: async ({ item, key }) => listings.isCurrent(item, await asker.lookup.listing(key)),
    list: (server) => listings.list(server, asker),
    refresh: (server) => listings.refresh(server, asker),
  }
}

const MOST_FAILED = 1000

function secondsOf({ manifest }: Item): number {
  const { schema_cache_ttl: seconds } = manifest.config
  return typeof seconds === 'number' && seconds >= 0 ? seconds : FRESH_SECONDS
}
