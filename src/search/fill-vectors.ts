import { randomUUID } from 'node:crypto'
import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Log } from '../shared/log.ts'
import type {
  MadeVector,
  Missing,
  MissingText,
  VectorFailure,
  VectorPlace,
  Vectors,
} from '../store/vectors.ts'
import type { Embedder } from './embedder.ts'

/** Makes the vectors that are missing, on the side: a batch after the other, by one process at a time. */
export interface VectorFill {
  /** Begins, unless it is under way or was looked at a moment ago. */
  begin(places: readonly VectorPlace[]): void
  /** Waits for what is under way, unless it is more texts. Whether these places have all their vectors then. */
  soon(places: readonly VectorPlace[], most: number): Promise<boolean>
  /** How far it had come when it last looked. */
  readonly last: Pick<Missing, 'texts' | 'made'> | null
  close(): Promise<void>
}

interface FillMeans {
  readonly embedder: Embedder
  readonly store: Vectors
  readonly clock: Clock
  readonly log: Log
  /** Whether it works in this process: what is under way at the end is dropped, since nobody was asked for it. */
  readonly isOwn: boolean
}

/**
 * Texts of one call, at most and at first: who calls once and goes has a few made. Half as many after each failure,
 * since it may be one of them.
 */
const BATCH = 32
const OWN_BATCH = 8
const FIRST_BATCH = 2
/** Between two looks at what is missing. */
const LOOK_MS = 1000
/** Longer than any call of an embedder: then its process is gone. */
const TURN_MS = 300_000
const PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 3_600_000
/** What is under way when Kiwi ends has a moment for its end. */
const CLOSING_MS = 2000

export function openVectorFill(means: FillMeans): VectorFill {
  const { clock, log, isOwn } = means
  const closing = new AbortController()
  const filling = openFilling(means, closing.signal)
  let looked: Promise<unknown> = Promise.resolve()
  let underWay: Promise<void> | null = null
  let lookedAt = -LOOK_MS

  /** Nobody waits for it: what went wrong is kept with the turn, and the next one to look sees it. */
  const fillQuietly = async (places: readonly VectorPlace[], first: Promise<FirstLook>): Promise<void> => {
    try {
      await filling.fill(places, await first)
    } catch (error) {
      if (!closing.signal.aborted) log.warn('vectors.failed', { reason: messageOf(error) })
    }
  }
  return {
    get last() {
      return filling.last
    },
    begin(places) {
      const now = clock.monotonic()
      // What this process reads by itself is looked at each time: what is new would lose against what has been read.
      if (underWay !== null || (!isOwn && now - lookedAt < LOOK_MS)) return
      lookedAt = now
      const first = filling.lookFirst(places)
      looked = first.catch(() => undefined)
      underWay = fillQuietly(places, first).finally(() => (underWay = null))
    },
    async soon(places, most) {
      await looked
      const { last } = filling
      if (last !== null && last.texts - last.made <= most) await underWay
      // It may have been under way for other places.
      return filling.isMade(places)
    },
    async close() {
      if (underWay === null) return
      const ended = underWay
      if (!isOwn) await endedWithin(ended, CLOSING_MS)
      closing.abort()
      await ended
    },
  }
}

/** What one process does in its turn. */
interface Filling {
  readonly last: VectorFill['last']
  lookFirst(places: readonly VectorPlace[]): Promise<FirstLook>
  fill(places: readonly VectorPlace[], first: FirstLook): Promise<void>
  isMade(places: readonly VectorPlace[]): Promise<boolean>
}

function openFilling({ embedder, store, clock, isOwn }: FillMeans, closing: AbortSignal): Filling {
  const holder = randomUUID()
  let last: VectorFill['last'] = null
  let isKept = false

  const look = async (model: string, places: readonly VectorPlace[], limit: number): Promise<Missing> =>
    (last = await store.missing(model, places, limit))
  /** Whether there may be more to do. */
  const makeSome = async (model: string, places: readonly VectorPlace[], size: number): Promise<boolean> => {
    const { some, ...all } = await look(model, places, size)
    if (some.length === 0 || isFull(all)) return false
    await store.put(model, await makeVectors(some, embedder, closing))
    return !closing.aborted
  }
  const take = (model: string): ReturnType<Vectors['claim']> =>
    store.claim(model, { holder, now: clock.now(), until: clock.now() + TURN_MS })
  return {
    get last() {
      return last
    },
    async lookFirst(places) {
      const model = await embedder.identity()
      if (!isKept) await store.keep(model, clock.now())
      isKept = true
      return { model, before: await look(model, places, 0) }
    },
    async fill(places, { model, before }) {
      if (before.made === before.texts) return
      if (isFull(before)) await store.prune(model)
      const turn = await take(model)
      if (turn === null) return
      let { failures } = turn
      try {
        // What another process made until now is looked at again: nothing is sent twice.
        let size = Math.max(1, FIRST_BATCH >> failures)
        while ((await makeSome(model, places, size)) && (await take(model)) !== null) {
          failures = 0
          size = Math.min(isOwn ? OWN_BATCH : BATCH, 2 * size)
        }
        await store.release(model, holder, null)
      } catch (error) {
        const failure = failureOf(error, failures, clock.now())
        await store.release(model, holder, closing.aborted ? null : failure)
        throw error
      }
    },
    async isMade(places) {
      const { texts, made } = await store.missing(await embedder.identity(), places, 0)
      return made === texts
    },
  }
}

function failureOf(error: unknown, failures: number, now: number): VectorFailure {
  const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** failures)
  return { error: messageOf(error), retryAt: now + pause }
}

interface FirstLook {
  readonly model: string
  readonly before: Missing
}

async function makeVectors(
  texts: readonly MissingText[],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly MadeVector[]> {
  const about = texts.map(({ itemId }) => itemId)
  const order = { kind: 'document', texts: texts.map(({ text }) => text), about } as const
  const made = await embedder.embed(order, signal)
  return texts.flatMap(({ hash }, at) => (made[at] === undefined ? [] : [{ hash, vec: made[at] }]))
}

/** More than memory may hold would be made and never compared. */
function isFull({ stored, dims }: Pick<Missing, 'stored' | 'dims'>): boolean {
  return stored * (dims ?? 0) * Float32Array.BYTES_PER_ELEMENT >= LIMITS.vectorBytes
}
