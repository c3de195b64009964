import type { Dispatcher } from 'undici'
import type { Connection } from './connection.ts'
import type { Link } from './linked-list.ts'
import { createLinkedList } from './linked-list.ts'

export interface PoolLimits {
  /** Connections to one origin. */
  readonly connections: number
  /** Those of them that are kept without work. */
  readonly idleConnections: number
}

/** A request's place in the pool. */
export interface Seat {
  /** The request is over: its connection takes the next one. */
  leave(): void
  /** Gives the request up at once, wherever it is: waiting, connecting or on its connection, which ends with it. */
  destroy(): void
  /** An error ended its connection. */
  readonly isBroken: boolean
}

export interface ConnectionPool {
  run(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): Seat
  /** Keeps no connection any more: those without work end now, the others when theirs is done. */
  retire(): void
  /** Ends every connection at once. */
  close(): void
}

/**
 * The connections to one origin: one request at a time on each, the last used first. undici's own Pool cannot give
 * up a request that still connects, reconnects for one that was aborted, and does not bound what is idle.
 */
export function openConnectionPool(
  connect: (onClose: (connection: Connection) => void) => Connection,
  limits: PoolLimits,
): ConnectionPool {
  const connections = new Set<Connection>()
  const idle: Connection[] = []
  const waiting = createLinkedList<Work>()
  let isRetired = false

  const drop = (connection: Connection): void => {
    if (!connections.delete(connection)) return
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    connection.destroy()
  }
  const add = (): Connection => {
    const connection = connect((closed) => {
      // One with work is left alone: undici fails the work, or connects again for it if it was not yet sent.
      if (idle.includes(closed)) drop(closed)
    })
    connections.add(connection)
    return connection
  }
  const take = (): Connection | null => idle.pop() ?? (connections.size < limits.connections ? add() : null)

  const turns: Turns = {
    enter(work) {
      const connection = take()
      if (connection === null) work.link = waiting.add(work)
      else work.start(connection)
    },
    /** A connection, or the room for one, goes to the work that waits longest. */
    proceed() {
      const work = waiting.first
      const connection = work === null ? null : take()
      if (work === null || connection === null) return
      turns.leaveLine(work)
      work.start(connection)
    },
    leaveLine(work) {
      if (work.link !== null) waiting.remove(work.link)
    },
    release(connection) {
      if (isRetired || !connection.isAlive) drop(connection)
      else idle.push(connection)
      turns.proceed()
      const [oldest] = idle
      if (oldest !== undefined && idle.length > limits.idleConnections) drop(oldest)
    },
    drop,
  }

  return {
    run(options, handler) {
      const work = new Work(options, handler, turns)
      turns.enter(work)
      return work
    },
    retire() {
      isRetired = true
      for (const connection of idle.splice(0)) drop(connection)
    },
    close() {
      for (const connection of connections) drop(connection)
    },
  }
}

/** How work and connections find each other. */
interface Turns {
  enter(work: Work): void
  proceed(): void
  leaveLine(work: Work): void
  release(connection: Connection): void
  drop(connection: Connection): void
}

class Work implements Seat {
  /** Its place among those that wait. */
  link: Link<Work> | null = null
  readonly #options: Dispatcher.DispatchOptions
  readonly #handler: Dispatcher.DispatchHandler
  readonly #turns: Turns
  #connection: Connection | null = null
  #isOver = false

  constructor(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler, turns: Turns) {
    this.#options = options
    this.#handler = handler
    this.#turns = turns
  }

  get isBroken(): boolean {
    return this.#connection !== null && this.#connection.isBroken
  }

  start(connection: Connection): void {
    this.#connection = connection
    connection.client.dispatch(this.#options, this.#handler)
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#connection !== null) this.#turns.release(this.#connection)
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#turns.leaveLine(this)
    if (this.#connection === null) return
    this.#turns.drop(this.#connection)
    this.#turns.proceed()
  }
}
