import type { Stop } from '../../shared/stop.ts'
/**
 * Starting a child forks us, which stands still our event loop: while others wait, one is started in each turn
 * of the loop, so that everything else gets its turn too.
 */
export interface SpawnQueue {
  /** At once when nobody waits. What got `go` must leave. */
  enter(lane: Lane, signal?: Stop): Promise<Entry>
  leave(lane: Lane): void
  /** Nobody gets in any more. */
  close(): void
}

export type Lane = 'run' | 'session'
export type Entry = 'go' | 'overloaded' | 'cancelled' | 'closed'

interface LaneLimits {
  /** Children at once. */
  readonly places: number
  /** Waiting for a place. */
  readonly waiting: number
}

/** Long-lived children have a lane of their own: they must not take the places of short ones for ever. */
export function openSpawnQueue(limits: Readonly<Record<Lane, LaneLimits>>): SpawnQueue {
  const lanes = { session: createLane(limits.session), run: createLane(limits.run) }
  let isTurnTaken = false
  let isClosed = false

  const takeTurn = (): void => {
    isTurnTaken = true
    setImmediate(() => {
      isTurnTaken = false
      serve()
    })
  }

  const serve = (): void => {
    if (isTurnTaken) return
    const next = lanes.session.next() ?? lanes.run.next()
    if (next === undefined) return
    takeTurn()
    next('go')
  }

  return {
    async enter(name, signal) {
      const lane = lanes[name]
      if (isClosed) return 'closed'
      if (signal?.aborted === true) return 'cancelled'
      if (lane.isFull()) return 'overloaded'
      if (isTurnTaken || !lane.hasPlace()) return lane.wait(signal)
      takeTurn()
      lane.take()
      return 'go'
    },
    leave(name) {
      lanes[name].give()
      serve()
    },
    close() {
      isClosed = true
      for (const lane of Object.values(lanes)) lane.refuse()
    },
  }
}

type Settle = (entry: Entry) => void

function createLane({ places, waiting: maxWaiting }: LaneLimits) {
  const waiting: Settle[] = []
  let taken = 0
  return {
    isFull: () => taken + waiting.length >= places + maxWaiting,
    hasPlace: () => taken < places && waiting.length === 0,
    take: () => void taken++,
    give: () => void taken--,
    wait(signal?: Stop): Promise<Entry> {
      return new Promise((resolve) => {
        const settle: Settle = (entry) => {
          signal?.removeEventListener('abort', cancel)
          resolve(entry)
        }
        const cancel = (): void => {
          waiting.splice(waiting.indexOf(settle), 1)
          settle('cancelled')
        }
        signal?.addEventListener('abort', cancel, { once: true })
        waiting.push(settle)
      })
    },
    /** The first that waits, if there is a place; it has the place then. */
    next(): Settle | undefined {
      if (taken >= places) return undefined
      const settle = waiting.shift()
      if (settle !== undefined) taken++
      return settle
    },
    refuse(): void {
      for (const settle of waiting.splice(0)) settle('closed')
    },
  }
}
