import type { Clock } from '../shared/clock.ts'
import type { Catalog } from '../store/catalog.ts'
import type { Description } from '../upstream/upstream.ts'
import type { UpstreamDraft } from './draft-upstream.ts'

/** What a server said of itself when it was last listed: one that is started anew need not be asked of which era it is. */
export type KnownEra = (draft: Spoken) => Promise<Description | null>

interface Spoken extends Pick<UpstreamDraft, 'identity' | 'isOlder'> {
  readonly server: Pick<UpstreamDraft['server'], 'kind'>
}

/** Older words are not believed: of the newer era nothing else would ask for them again. */
const BELIEVED_MS = 3_600_000

export function openKnownEra(
  { catalog }: { readonly catalog: Pick<Catalog, 'listing'> },
  clock: Pick<Clock, 'now'>,
): KnownEra {
  return async ({ identity, isOlder, server }) => {
    if (isOlder) return { ...OLDER, judgedAt: clock.now() }
    // What an address says may be for one login only; a program is the same for all.
    if (server.kind !== 'stdio') return null
    const listing = await catalog.listing(identity).catch(() => null)
    const age = listing === null ? -1 : clock.now() - listing.listed_at
    if (listing === null || listing.protocol === '' || age < 0 || age >= BELIEVED_MS) return null
    const {
      era,
      protocol,
      capabilities,
      server_info: serverInfo,
      instructions,
      listed_at: judgedAt,
    } = listing
    return { era, protocol, capabilities, serverInfo, instructions, judgedAt }
  }
}

/** Taken for known, so that it is not asked whether it speaks the newer era. */
const OLDER = {
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: {},
  serverInfo: {},
  instructions: null,
} as const
