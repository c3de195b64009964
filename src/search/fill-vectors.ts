import { randomUUID } from 'node:crypto'
import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Log } from '../shared/log.ts'
import type { Missing, VectorPlace, Vectors } from '../store/vectors.ts'
import type { Embedder } from './embedder.ts'

/** Makes the vectors that are missing, on the side: a batch after the other, by one process at a time. */
export interface VectorFill {
  /** Begins, unless it is under way or was looked at a moment ago. */
  begin(places: readonly VectorPlace[]): void
  /** How far it had come when it last looked. */
  readonly last: Pick<Missing, 'texts' | 'made'> | null
  close(): Promise<void>
}

interface FillMeans {
  readonly embedder: Embedder
  readonly store: Vectors
  readonly clock: Clock
  readonly log: Log
}

/** Texts of one call; half as many after each failure, since it may be one of them. */
const BATCH = 32
/** Between two looks at what is missing. */
const LOOK_MS = 1000
/** Longer than any call of an embedder: then its process is gone. */
const TURN_MS = 120_000
const PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 3_600_000
/** What is under way when Kiwi ends has a moment for its end. */
const CLOSING_MS = 2000

export function openVectorFill({ embedder, store, clock, log }: FillMeans): VectorFill {
  const holder = randomUUID()
  const closing = new AbortController()
  let underWay: Promise<void> | null = null
  let lookedAt = -LOOK_MS
  let last: VectorFill['last'] = null
  let isPruned = false

  /** Whether there may be more to do. */
  const step = async (model: string, places: readonly VectorPlace[]): Promise<boolean> => {
    const missing = await store.missing(model, places, BATCH)
    last = missing
    if (missing.some.length === 0 || isFull(missing)) {
      if (!isPruned && missing.texts === missing.made) await store.prune(model)
      isPruned = true
      return false
    }
    const now = clock.now()
    const turn = await store.claim(model, { holder, now, until: now + TURN_MS })
    if (turn === null) return false
    const batch = missing.some.slice(0, Math.max(1, BATCH >> turn.failures))
    try {
      const order = {
        kind: 'document',
        texts: batch.map(({ text }) => text),
        about: batch.map(({ itemId }) => itemId),
      } as const
      const made = await embedder.embed(order, closing.signal)
      await store.put(
        model,
        batch.flatMap(({ hash }, at) => (made[at] === undefined ? [] : [{ hash, vec: made[at] }])),
      )
    } catch (error) {
      const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** turn.failures)
      const failure = closing.signal.aborted
        ? null
        : { error: messageOf(error), retryAt: clock.now() + pause }
      await store.release(model, holder, failure)
      throw error
    }
    await store.release(model, holder, null)
    isPruned = false
    return true
  }
  const fill = async (places: readonly VectorPlace[]): Promise<void> => {
    try {
      const model = await embedder.identity()
      while (!closing.signal.aborted && (await step(model, places)));
    } catch (error) {
      if (!closing.signal.aborted) log.warn('vectors.failed', { reason: messageOf(error) })
    }
  }
  return {
    get last() {
      return last
    },
    begin(places) {
      const now = clock.monotonic()
      if (underWay !== null || now - lookedAt < LOOK_MS) return
      lookedAt = now
      underWay = fill(places).finally(() => (underWay = null))
    },
    async close() {
      if (underWay === null) return
      const ended = underWay
      await endedWithin(ended, CLOSING_MS)
      closing.abort()
      await ended
    },
  }
}

/** More than memory may hold would be made and never compared. */
function isFull({ stored, dims }: Missing): boolean {
  return stored * (dims ?? 0) * Float32Array.BYTES_PER_ELEMENT >= LIMITS.vectorBytes
}
