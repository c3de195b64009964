import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import { realSignal } from '../shared/stop.ts'
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
  /** Asks a server now; those who ask at the same time wait for one answer. */
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
  const underWay = new Map<string, { readonly asking: Promise<Outcome>; readonly at: number }>()
  const failed = new Map<string, { readonly at: number; readonly reason: string }>()
  const closing = new AbortController()
  const ask = createAsk({ clock, pass }, closing.signal)

  const list = (server: Server, asker: Asker, isQuiet = false): Promise<Outcome> => {
    const flight = `${server.key} ${asker.ticket.caller.principal}`
    const known = underWay.get(flight)
    if (known !== undefined) return known.asking
    const asking = ask(server, asker, isQuiet)
      .then(
        (outcome) => {
          failed.delete(flight)
          return outcome
        },
        (error: unknown) => {
          if (failed.size >= MOST_FAILED) failed.clear()
          failed.set(flight, { at: clock.monotonic(), reason: messageOf(error) })
          throw error
        },
      )
      .finally(() => underWay.delete(flight))
    underWay.set(flight, { asking, at: clock.monotonic() })
    return asking
  }

  return {
    isCurrent(server, listing) {
      if (listing === null || listing.listed_at === 0) return false
      const age = clock.now() - listing.listed_at
      return age >= 0 && age < secondsOf(server) * 1000
    },
    list: (server, asker) => list(server, asker),
    refresh(server, asker) {
      const flight = `${server.key} ${asker.ticket.caller.principal}`
      const before = failed.get(flight)
      if (before !== undefined && clock.monotonic() - before.at < PAUSE_MS)
        return { failure: before.reason, first: null }
      const asking = list(server, asker, true)
      // Whoever waits for it later hears why it failed.
      asking.catch(() => undefined)
      const forMs = clock.monotonic() - (underWay.get(flight)?.at ?? 0)
      return { failure: null, first: before === undefined ? { asking, forMs } : null }
    },
    async close() {
      const ended = Promise.allSettled(Array.from(underWay.values(), ({ asking }) => asking))
      await endedWithin(ended, CLOSING_MS)
      closing.abort(new KiwiError('CANCELLED', 'Cannot list a server: Kiwi is closing'))
      await ended
    },
  }
}

/** Asking is a call of its own. One that nobody waits for goes on when its asker is gone. */
function createAsk(
  { clock, pass }: ListingMeans,
  closing: AbortSignal,
): (server: Server, asker: Asker, isQuiet: boolean) => Promise<Outcome> {
  const ids = createIds(() => clock.now())
  return async (server: Server, { ticket, lookup, means }: Asker, isQuiet: boolean): Promise<Outcome> => {
    const { caller, signal, report } = ticket
    const asked: Ticket = {
      callId: ids(),
      operation: 'mcp.list',
      subject: server.item.id,
      parameters: {},
      caller,
      signal: isQuiet || signal === undefined ? closing : AbortSignal.any([realSignal(signal), closing]),
      ...(report === undefined || isQuiet ? {} : { report }),
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
