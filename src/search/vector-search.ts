import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { NearRow } from '../store/store.ts'
import type { Missing, VectorFailure, VectorPlace, Vectors } from '../store/vectors.ts'
import type { Embedder } from './embedder.ts'
import { openVectorFill } from './fill-vectors.ts'
import type { Ranking } from './fuse.ts'
import { openQueryVectors } from './query-vectors.ts'
import type { VectorScan } from './vector-scan.ts'
import { openVectorScan } from './vector-scan.ts'

/** Finds by what is meant, where words do not meet. */
export interface VectorSearch {
  /** Has the vector of a query made meanwhile. */
  prepare(query: string): void
  /** The rows nearest to a query, or the reason that there are none in the time a search has; a person has more of it. */
  rank(query: string, places: readonly VectorPlace[], isPatient: boolean): Promise<ByMeaning>
  /** Has vectors made, on the side, for what is in these places and has none. */
  begin(places: readonly VectorPlace[]): void
  /** How far it has come in these places, and what last went wrong. */
  state(places: readonly VectorPlace[]): Promise<VectorState>
  close(): Promise<void>
  /** Whether it is the reader that is shipped, which asks nobody. */
  readonly isOwn: boolean
}

export interface ByMeaning {
  readonly rankings: readonly Ranking[]
  /** What the reader finds near; null where it has not read every item. */
  readonly read: readonly NearRow[] | null
  readonly warnings: readonly string[]
}

interface VectorState extends Pick<Missing, 'texts' | 'made'> {
  readonly model: string
  readonly failure: VectorFailure | null
}

interface VectorMeans {
  readonly embedder: Embedder
  readonly store: Vectors
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds that a search waits. */
  readonly waitMs: number
  readonly isOwn: boolean
}

/** Whoever searches at the command line has just begun a Kiwi of their own, which first has to reach its embedder. */
const PATIENCE = 10

/**
 * Texts that the reader has not read and that a search waits for. For more an agent would wait in vain: they are read while it goes
 * on. At the command line nobody goes on, and what is not read while somebody waits is left to the next command.
 */
const FEW_UNREAD = 10
const MOST_UNREAD = 400

export function openVectorSearch(means: VectorMeans): VectorSearch {
  const { embedder, store, clock, waitMs, isOwn } = means
  const fill = openVectorFill(means)
  const queries = openQueryVectors(embedder, clock, isOwn ? Infinity : undefined)
  let scan: { readonly model: string; readonly all: VectorScan } | null = null

  const look = async (query: string, places: readonly VectorPlace[], most: number): Promise<ByMeaning> => {
    const model = await embedder.identity()
    if (scan?.model !== model) scan = { model, all: openVectorScan(model, store) }
    const { all } = scan
    const asking = queries.of(model, query)
    if (asking === null) return leftOut('it is busy')
    const [vector, isRead] = await Promise.all([asking, isOwn ? fill.soon(places, most) : null])
    await all.load()
    if (isRead === false) return NOTHING
    if (all.size === 0) return leftOut('no item has a vector yet')
    const near = await all.nearest(vector, isOwn ? 0 : undefined)
    const found = await store.rowsOf(near.map(({ id }) => id))
    if (isOwn) return { ...NOTHING, read: nearRows(found, near) }
    const ranking = { reason: 'embedder', weight: WEIGHT, rows: found.map(({ row }) => row) }
    // What has no vector yet would lose too much against what has one: then only the order counts.
    if (!isWhole(fill.last)) return { ...NOTHING, rankings: [ranking], warnings: partly(fill.last) }
    const byId = new Map(near.map(({ id, deviations }) => [id, deviations]))
    const deviations = found.map(({ id }) => byId.get(id) ?? 0)
    return { ...NOTHING, rankings: [{ ...ranking, deviations }] }
  }
  return {
    isOwn,
    prepare(query) {
      void embedder.identity().then(
        (model) => queries.of(model, query)?.catch(() => undefined),
        () => undefined,
      )
    },
    async rank(query, places, isPatient) {
      let found = isOwn ? NOTHING : leftOut('it is too slow')
      const looking = look(query, places, isPatient ? MOST_UNREAD : FEW_UNREAD).then(
        (ranking) => (found = ranking),
        (error: unknown) => (found = leftOut(messageOf(error))),
      )
      await endedWithin(looking, isPatient ? PATIENCE * waitMs : waitMs)
      return found
    },
    begin: (places) => fill.begin(places),
    async state(places) {
      const model = await embedder.identity()
      const { texts, made } = await store.missing(model, places, 0)
      return { model, texts, made, failure: await store.failure(model) }
    },
    close: () => fill.close(),
  }
}

const WEIGHT = 1

const NOTHING: ByMeaning = { rankings: [], read: null, warnings: [] }

function leftOut(reason: string): ByMeaning {
  return { ...NOTHING, warnings: [`found without the embedder: ${reason}`] }
}

function nearRows(
  found: readonly { readonly row: number; readonly id: number }[],
  near: Awaited<ReturnType<VectorScan['nearest']>>,
): readonly NearRow[] {
  const byId = new Map(near.map((one) => [one.id, one]))
  return found.map(({ row, id }) => {
    const { deviations = 0, nearness = 0 } = byId.get(id) ?? {}
    return { row, score: deviations, nearness }
  })
}

/** A few that are new are no news. */
function isWhole(last: Pick<Missing, 'texts' | 'made'> | null): boolean {
  return last !== null && last.made >= 0.9 * last.texts
}

function partly(last: Pick<Missing, 'texts' | 'made'> | null): readonly string[] {
  if (last === null) return []
  return [`the embedder ranks a part: ${last.texts - last.made} of ${last.texts} texts have no vector yet`]
}
