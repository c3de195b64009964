import type { Draft } from '../chain/draft.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Watch } from '../shared/progress.ts'
import { newlyHeld } from '../spaces/definitions/definition-changes.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { keepListing } from './keep-listing.ts'
import type { Means } from './means.ts'

interface Circumstances {
  readonly lookup: Lookup
  readonly means: Means
  /** Fails when the tool may not be called as it is listed now. */
  readonly judge: () => Promise<unknown>
}

/** How a call looks again at what its server lists, and what that put into quarantine. */
export interface Relisting {
  readonly found: () => JsonObject
  /** The same watch, with the look in it; what is shipped needs none. */
  readonly watching: (watch?: Watch) => Watch
}

/**
 * A server that was started anew may be another one than was listed, and so may one that others reach over connections of
 * their own. It is asked over the very connection that the call goes over, as a part of the call, which was judged for
 * starting it.
 */
export function relisting(draft: Draft, { lookup, means, judge }: Circumstances): Relisting {
  const { effect } = draft
  let held: readonly JsonObject[] = []
  const found = (): JsonObject => (held.length === 0 ? {} : { quarantined: held })
  if (effect.kind !== 'mcp' || effect.served.item.space === 'builtin')
    return { found, watching: (watch = {}) => watch }
  const relist = async (watch: Watch): Promise<void> => {
    const server = await lookup.serverOf(effect.served.item)
    if (server !== null) {
      const kept = await keepListing(server, draft, { lookup, means, watch })
      held = newlyHeld(kept.before, kept.tools)
    }
    await judge()
  }
  const listed = (): Maybe<string> => after(lookup.listing(effect.identity), (listing) => listing?.hash ?? '')
  return { found, watching: (watch = {}) => ({ relist: () => relist(watch), listed, ...watch }) }
}
