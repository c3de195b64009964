import type { Client } from 'undici'
import type * as UndiciModule from 'undici'
import type { Dialler } from './dial.ts'
import { dial } from './dial.ts'

/** undici, which the caller has loaded. */
export type Undici = Pick<typeof UndiciModule, 'Client'>

/** One connection at a time to one origin, for one request at a time. */
export interface Connection {
  readonly client: Client
  /** It stands, or is being made. */
  readonly isAlive: boolean
  /** An error ended it. undici takes a reset for the end of a body that has no length; this tells them apart. */
  readonly isBroken: boolean
  /** Ends it at once, also while it connects. */
  destroy(): void
}

/** The longest time a server's own hint can keep a connection without work. */
const LONGEST_KEEP_ALIVE_MS = 60_000

/** Times are bounded by the calls, exactly; undici's own timers are coarse and stay off. */
export function openConnection(
  undici: Undici,
  dialler: Dialler,
  keepAliveMs: number,
  onClose: (connection: Connection) => void,
): Connection {
  let socket: ReturnType<typeof dial> | null = null
  const client = new undici.Client(dialler.url.origin, {
    connect: (_options, done) => {
      socket = dial(dialler, done).once('close', () => onClose(connection))
    },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
  })
  const connection: Connection = {
    client,
    get isAlive() {
      return socket !== null && !socket.destroyed
    },
    get isBroken() {
      return socket !== null && socket.errored !== null
    },
    destroy() {
      void client.destroy()
      // The client knows its socket only once that is connected.
      socket?.destroy()
    },
  }
  return connection
}
