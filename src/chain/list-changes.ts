import type { Upstreams } from '../upstream/upstreams.ts'
import type { Store } from '../store/store.ts'

/** Hears from upstreams that what they list has changed, or may have: then it is to be asked for again. */
export interface ListChanges {
  /** What is listed over this connection is kept under this identity. */
  note(key: string, identity: string): void
}

const CHANGES: ReadonlySet<string> = new Set(['notifications/tools/list_changed', 'kiwi/restarted'])
/** Far more than there are connections. */
const MOST_NOTED = 1000

export function openListChanges(upstreams: Upstreams, { catalog }: Pick<Store, 'catalog'>): ListChanges {
  const identities = new Map<string, string>()
  upstreams.onNotice(({ key, method }) => {
    const identity = CHANGES.has(method) ? identities.get(key) : undefined
    // One that cannot be written is too old in an hour by itself.
    if (identity !== undefined) catalog.expire(identity).catch(() => undefined)
  })
  return {
    note(key, identity) {
      if (identities.get(key) === identity) return
      identities.set(key, identity)
      const [oldest] = identities.keys()
      if (identities.size > MOST_NOTED && oldest !== undefined) identities.delete(oldest)
    },
  }
}
