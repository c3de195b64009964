import type { InFlight, Pending } from './pending.ts'

/** Whose matter it is when an upstream speaks by itself, which few of them say; when nobody's, whose it may have been. */
export type Addressee =
  | { readonly asked: InFlight }
  | { readonly asked: null; readonly why: 'several' | 'none'; readonly among: readonly InFlight[] }

/**
 * The newest request that `can` take it, when all that wait are one caller's. Between several callers nothing is guessed:
 * one must not be asked, or told, what is another's.
 */
export function addresseeIn(pending: Pending, can: (inFlight: InFlight) => boolean): Addressee {
  return addresseeAmong(callsIn(pending), can)
}

/**
 * The same for a question. While the client of a call has one to answer, the upstream waits for that: where others are
 * under way, it is one of those that asks anew, and a form that somebody has left open is in nobody's way.
 */
export function askedIn(pending: Pending, can: (inFlight: InFlight) => boolean): Addressee {
  const calls = callsIn(pending)
  const now = performance.now()
  const going = calls.filter(({ asking, askedAt }) => asking === 0 || now - askedAt < SETTLED_MS)
  return addresseeAmong(going.length === 0 ? calls : going, can)
}

/** Some ask for several things in one go. */
const SETTLED_MS = 1000

function callsIn(pending: Pending): readonly InFlight[] {
  return Array.from(pending.all()).filter((inFlight) => callerOf(inFlight) !== undefined)
}

function addresseeAmong(calls: readonly InFlight[], can: (inFlight: InFlight) => boolean): Addressee {
  const [first, ...others] = calls
  if (first !== undefined && others.some((other) => callerOf(other) !== callerOf(first)))
    return { asked: null, why: 'several', among: calls }
  const asked = calls.findLast(can)
  return asked === undefined ? { asked: null, why: 'none', among: calls } : { asked }
}

/** Without a name, who can be asked is told apart by how. Who listens makes no call: what it hears names its subscription. */
function callerOf({ request }: InFlight): unknown {
  return request.method === LISTEN ? undefined : (request.caller ?? request.ask ?? request.tell)
}

const LISTEN = 'subscriptions/listen'
