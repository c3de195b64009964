import type { JsonObject } from '../shared/json.ts'
import type { Connection } from './connection.ts'
import { connect } from './connection.ts'
import { cancelled } from './pending.ts'
import type { Description, Upstream, UpstreamNotice, UpstreamRequest, UpstreamStatus } from './upstream.ts'

/** Connections to upstreams: opened by the first call, shared, opened anew when one is lost, closed when idle. */
export interface Upstreams {
  /** The result as it came, `input_required` and `task` too. */
  request(upstream: Upstream, request: UpstreamRequest): Promise<JsonObject>
  /** What it says of itself; connects where that has to be asked. */
  describe(upstream: Upstream, signal?: AbortSignal): Promise<Description>
  /** Tells one that is up; nobody else has to know. */
  notify(upstream: Upstream, method: string, params: JsonObject): void
  /** The same notices of one upstream come at most once a second. Gives back how to hear no more. */
  onNotice(listener: (notice: UpstreamNotice) => void): () => void
  status(): readonly UpstreamStatus[]
  close(): Promise<void>
}

/** Beyond it those that nobody uses are closed first. */
const MOST_CONNECTIONS = 32

export function openUpstreams(): Upstreams {
  const places = new Map<string, Place>()
  const closing = new Set<Promise<void>>()
  const listeners = new Set<(notice: UpstreamNotice) => void>()

  /** Whoever asks first starts it, and all others wait for the same start. */
  const place = (upstream: Upstream): Place => {
    const known = places.get(upstream.key)
    if (known !== undefined && known.isUsable()) return known
    const made = createPlace(open(upstream))
    places.set(upstream.key, made)
    return made
  }

  const open = async ({ id, startupMs, open: openWire }: Upstream): Promise<Connection> =>
    connect(id, await openWire(), startupMs)

  const drop = (key: string, dropped: Place): void => {
    if (dropped.users > 0) return
    if (places.get(key) === dropped) places.delete(key)
    const closed = dropped.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  const makeRoom = (): void => {
    if (places.size <= MOST_CONNECTIONS) return
    const idle = [...places].filter(([, { users }]) => users === 0)
    for (const [key, unused] of idle.slice(0, places.size - MOST_CONNECTIONS)) drop(key, unused)
  }

  return {
    async request(upstream, request) {
      const used = place(upstream)
      used.enter()
      makeRoom()
      try {
        const connection = await unlessCancelled(used.connection, upstream.id, request.signal)
        return await connection.request(request)
      } finally {
        // The last that was used stands last.
        if (places.get(upstream.key) === used) {
          places.delete(upstream.key)
          places.set(upstream.key, used)
        }
        used.leave(upstream.keepAliveMs, () => drop(upstream.key, used))
      }
    },
    async describe(upstream, signal) {
      const connection = await unlessCancelled(place(upstream).connection, upstream.id, signal)
      return connection.description
    },
    notify: ({ key }, method, params) =>
      void places.get(key)?.connection.then(
        (connection) => connection.notify(method, params),
        () => {},
      ),
    onNotice(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    status: () => [],
    async close() {
      await Promise.all([...Array.from(places.values(), (each) => each.close()), ...closing])
      places.clear()
    },
  }
}

/** One connection, being opened or open, and who uses it. */
interface Place {
  readonly connection: Promise<Connection>
  readonly users: number
  /** Whether it can be asked, or will be. */
  isUsable(): boolean
  enter(): void
  leave(idleMs: number, onIdle: () => void): void
  close(): Promise<void>
}

function createPlace(connection: Promise<Connection>): Place {
  let users = 0
  let timer: NodeJS.Timeout | undefined
  let state: 'opening' | 'failed' | Connection = 'opening'
  const settle = async (): Promise<void> => {
    state = await connection.catch(() => 'failed' as const)
  }
  void settle()
  return {
    connection,
    get users() {
      return users
    },
    isUsable: () => (typeof state === 'string' ? state === 'opening' : state.isOpen),
    enter() {
      clearTimeout(timer)
      users += 1
    },
    leave(idleMs, onIdle) {
      users -= 1
      if (users === 0) timer = setTimeout(onIdle, idleMs).unref()
    },
    async close() {
      clearTimeout(timer)
      const opened = await connection.catch(() => null)
      await opened?.close()
    },
  }
}

/** The start goes on for the others. */
async function unlessCancelled<T>(opening: Promise<T>, id: string, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return opening
  if (signal.aborted) throw cancelled(id)
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(cancelled(id))
    signal.addEventListener('abort', cancel, { once: true })
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel))
  })
}
