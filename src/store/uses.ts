import type { ItemType } from '../shared/tool-type.ts'
import type { SpaceName } from './store.ts'

/** An item that was run after a search for these words. */
export interface NewUse {
  /** Its row in the search index, and its id: by now the row may be another item's. */
  readonly row: number
  readonly item_id: string
  /** Stems, each once, in order. */
  readonly words: readonly string[]
}

/** What is learnt belongs to the space that the item lives in. */
export interface Use {
  readonly space: SpaceName
  /** Folder of a file space or key of an upstream, else empty. */
  readonly root: string
  readonly item_type: ItemType
  readonly item_id: string
  readonly words: readonly string[]
  /** How often, as it stood at `last`: older uses count less and less. */
  readonly times: number
  /** Milliseconds since 1970. */
  readonly last: number
}

/** One that shares words with a query, and where its item stands in the search index. */
interface LikeUse {
  readonly row: number
  readonly words: readonly string[]
  readonly times: number
  readonly last: number
}

/** What is known of uses for a query. */
export interface LikeUses {
  readonly uses: readonly LikeUse[]
  /** In how many of all uses each of their words occurs, to tell rare words from common ones. */
  readonly frequency: ReadonlyMap<string, number>
}

/** A space whose uses are wanted. */
export type UsePlace = Pick<Use, 'space' | 'root'>

/** A search of a person in a project, and what it showed: for who runs one of it in another process. */
export interface PastSearch {
  readonly principal: string
  /** Null outside of any. */
  readonly project: string | null
  readonly words: NewUse['words']
  /** The row of each id. */
  readonly items: ReadonlyMap<string, number>
}

/** Which items were used after which searches. Bounded for each space and in all: the oldest goes first. */
export interface Uses {
  /** Counts each once more, at this time. What is no longer in the index is left out. */
  credit(uses: readonly NewUse[], at: number): Promise<void>
  /** Of these places, those that share any of the words, newest first. */
  like(words: readonly string[], places: readonly UsePlace[]): Promise<LikeUses>
  /** All, the latest first. */
  read(): Promise<readonly Use[]>
  /** Keeps the last few searches of each principal, and none from before `since`. */
  remember(search: PastSearch, at: number, since: number): Promise<void>
  /** Those of a principal in a project from then on, the latest first. */
  recall(who: Pick<PastSearch, 'principal' | 'project'>, since: number): Promise<readonly PastSearch[]>
  /** Of one item, wherever it lives; null = all. How many there were. No search is remembered either. */
  forget(itemId: string | null): Promise<number>
}

/** Milliseconds after which a use counts half. */
const HALF_LIFE = 30 * 24 * 60 * 60 * 1000

/** What so many uses at `last` still count for. */
export function fadedTimes({ times, last }: Pick<Use, 'times' | 'last'>, now: number): number {
  return times * 0.5 ** (Math.max(0, now - last) / HALF_LIFE)
}
