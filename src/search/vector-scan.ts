import { LIMITS } from '../shared/limits.ts'
import { openTurns } from '../shared/take-turns.ts'
import type { Vectors } from '../store/vectors.ts'
import { productOf } from './product.ts'

/** All vectors of one model in memory, compared one by one: exact, and fast enough for what memory may hold. */
export interface VectorScan {
  readonly size: number
  /** Takes in what was made since, by this process or another. */
  load(): Promise<void>
  /** Those that are nearer than the average by so many deviations, nearest first; without a number, those that stand out. */
  nearest(vector: Float32Array, least?: number): Promise<readonly Near[]>
}

interface Near {
  readonly id: number
  /** By how many deviations it is nearer than the average, and how near it is: 1 is the same. */
  readonly deviations: number
  readonly nearness: number
}

/** Rows that are read before others get a turn. */
const AT_ONCE = 500
/** Rows that are compared before others get a turn. */
const BLOCK = 4096
const MOST_NEAR = 200
/** Something is always nearest. That stands out which is nearer than most by more than they usually differ. */
const STANDS_OUT = 1
/** Of more than these, as many as are told stand out anyway. */
const FEW = 2000

export function openVectorScan(
  model: string,
  store: Pick<Vectors, 'after'>,
  mostBytes: number = LIMITS.vectorBytes,
): VectorScan {
  const ids: number[] = []
  let dims = 0
  let numbers = new Float32Array(0)
  let last = 0
  let loading: Promise<void> | null = null

  const add = (id: number, vec: Float32Array): void => {
    last = id
    if (dims === 0) dims = vec.length
    const end = (ids.length + 1) * dims
    if (vec.length !== dims || end * Float32Array.BYTES_PER_ELEMENT > mostBytes) return
    if (end > numbers.length) numbers = grown(numbers, Math.max(end, 2 * numbers.length))
    numbers.set(unit(vec), ids.length * dims)
    ids.push(id)
  }
  const read = async (): Promise<void> => {
    const turn = openTurns()
    for (;;) {
      const rows = await store.after(model, last, AT_ONCE)
      for (const { id, vec } of rows) add(id, vec)
      if (rows.length < AT_ONCE) return
      await turn()
    }
  }
  return {
    get size() {
      return ids.length
    },
    load() {
      loading ??= read().finally(() => (loading = null))
      return loading
    },
    async nearest(vector, least = STANDS_OUT) {
      if (vector.length !== dims) return []
      const count = ids.length
      const scores = new Float32Array(count)
      const turn = openTurns()
      for (let from = 0; from < count; from += BLOCK) {
        compare(numbers, unit(vector), scores, { from, to: Math.min(count, from + BLOCK) })
        await turn()
      }
      return standingOut(scores, count > FEW ? STANDS_OUT : least).map(({ at, deviations }) => ({
        id: ids[at] ?? 0,
        deviations,
        nearness: scores[at] ?? 0,
      }))
    },
  }
}

/** Of length 1, so that nearness is a plain product; of nothing, nothing. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(productOf(vector, vector, 0))
  if (length === 0) return vector
  const made = new Float32Array(vector.length)
  for (let at = 0; at < made.length; at++) made[at] = (vector[at] ?? 0) / length
  return made
}

function grown(numbers: Float32Array<ArrayBuffer>, length: number): Float32Array<ArrayBuffer> {
  const more = new Float32Array(length)
  more.set(numbers)
  return more
}

function compare(
  numbers: Float32Array,
  vector: Float32Array,
  scores: Float32Array,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  for (let row = from; row < to; row++) scores[row] = productOf(vector, numbers, row * vector.length)
}

/** What nearness means differs from model to model, so it is counted in deviations. */
function standingOut(
  scores: Float32Array,
  least: number,
): readonly { readonly at: number; readonly deviations: number }[] {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  const spread = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length)
  const near: number[] = []
  for (const [at, score] of scores.entries()) if (score > 0 && score >= mean + least * spread) near.push(at)
  return near
    .toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    .slice(0, MOST_NEAR)
    .map((at) => ({ at, deviations: spread === 0 ? 0 : ((scores[at] ?? 0) - mean) / spread }))
}
