import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Embedder } from './embedder.ts'

/** The vectors of queries, kept: the same question costs one call, and one that came too late is there the next time. */
export interface QueryVectors {
  /** Null: it is not tried now, since too many are under way. Rejects, for a while without a call, where one failed. */
  of(model: string, query: string): Promise<Float32Array> | null
}

const MOST_KEPT = 256
const MOST_UNDER_WAY = 4
/** How long an embedder that failed is left alone. */
const PAUSE_MS = 30_000

export function openQueryVectors(
  embedder: Embedder,
  clock: Clock,
  mostUnderWay: number = MOST_UNDER_WAY,
): QueryVectors {
  const kept = new Map<string, Promise<Float32Array>>()
  let underWay = 0
  let failed: { readonly model: string; readonly reason: unknown; readonly at: number } | null = null

  const ask = async (model: string, query: string, key: string): Promise<Float32Array> => {
    underWay++
    try {
      const [vector] = await embedder.embed({ kind: 'query', texts: [query], about: [] })
      if (vector === undefined) throw new Error('the embedder gave nothing back')
      failed = null
      return vector
    } catch (error) {
      kept.delete(key)
      failed = { model, reason: error, at: clock.monotonic() }
      throw error
    } finally {
      underWay--
    }
  }
  return {
    of(model, text) {
      const query = text.replaceAll(/\s+/g, ' ').trim().slice(0, LIMITS.embeddedCharacters)
      const key = `${model}\n${query}`
      const known = kept.get(key)
      if (known !== undefined) {
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      if (failed?.model === model && clock.monotonic() - failed.at < PAUSE_MS)
        return Promise.reject(new Error(messageOf(failed.reason)))
      if (underWay >= mostUnderWay) return null
      const asking = ask(model, query, key)
      kept.set(key, asking)
      const [oldest] = kept.keys()
      if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
      return asking
    },
  }
}
