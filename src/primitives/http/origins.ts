import type { ConnectionPool, PoolLimits } from './connection-pool.ts'
import { openConnectionPool } from './connection-pool.ts'
import type { EgressGuard } from './egress-guard.ts'
import type { Undici } from './connection.ts'
import { openConnection } from './connection.ts'
import type { Dialler } from './dial.ts'

export interface OriginLimits extends PoolLimits {
  /** How many origins keep their connections; the one used longest ago gives way. */
  readonly origins: number
  /** How long a connection is kept without work, when the server says nothing else. */
  readonly keepAliveMs: number
  readonly connectTimeoutMs: number
}

/** A pool of connections for each origin. */
export interface Origins {
  poolFor(url: URL): ConnectionPool
  close(): void
}

export function openOrigins(undici: Undici, guard: EgressGuard, limits: OriginLimits): Origins {
  const pools = new Map<string, ConnectionPool>()
  let latest = ''
  const openPool = (url: URL): ConnectionPool => {
    const dialler: Dialler = { url, guard, timeoutMs: limits.connectTimeoutMs, session: undefined }
    return openConnectionPool(
      (onClose) => openConnection(undici, dialler, limits.keepAliveMs, onClose),
      limits,
    )
  }
  return {
    poolFor(url) {
      const { origin } = url
      const known = pools.get(origin)
      if (known !== undefined && origin === latest) return known
      const pool = known ?? openPool(url)
      latest = origin
      // A map keeps the order of insertion, so the first one is the one used longest ago.
      pools.delete(origin)
      pools.set(origin, pool)
      const [oldest] = pools
      if (oldest !== undefined && pools.size > limits.origins) {
        pools.delete(oldest[0])
        oldest[1].retire()
      }
      return pool
    },
    close() {
      for (const pool of pools.values()) pool.close()
      pools.clear()
    },
  }
}
