import type { Ticket } from '../kernel/call.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { Learning } from '../search/learning.ts'
import type { VectorSearch } from '../search/vector-search.ts'
import type { WordTable } from '../search/word-table.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { StoreView } from '../store/store.ts'

/** One call of one of the four tools, with what it needs. */
export interface MetaCall {
  readonly ticket: Ticket
  readonly kernel: Kernel
  readonly store: StoreView
  readonly learning: Learning
  /** Null where the person has set no embedder. */
  readonly vectors: VectorSearch | null
  /** What words mean, for search. */
  readonly wordTable: () => Promise<WordTable>
  /** Whether the session has not just been told this. */
  readonly isNews: (line: string) => boolean
  /** The spaces as the call's project sees them. */
  readonly lookupAt: (projectPath: string | undefined) => Promise<Lookup>
  /** The same for what is done and not only looked at, with what the session itself works in. */
  readonly workplaceAt: (projectPath: string | undefined) => Maybe<Workplace>
}

export interface Workplace {
  readonly lookup: Lookup
  readonly sessionProject: string | null
}
