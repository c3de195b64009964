import { z } from 'zod'
import type { Meaning } from '../store.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** Rows whose vector is worked out in one search: what is new is soon done, and a search never waits for all of it. */
const MOST_FILLED = 2000
/** Rows that are compared at all; further ones are found by their words. */
const MOST_KEPT = 200_000

/** What each row is about, as vectors: kept in the store, compared in memory. */
export function createMeaning(connection: Connection): Meaning {
  const missing = connection.prepare(
    `SELECT v.change, iif(i.name = i.item_id, '', i.name || ' ') || i.item_id || ' ' || t.description || ' ' || t.tags AS text
     FROM search_vectors v JOIN search_text t ON t.rowid = v.row_id JOIN search_items i ON i.id = v.row_id
     WHERE v.vector = x'' LIMIT ?`,
  )
  // Nothing of it where the text has changed since.
  const put = connection.prepare(
    'INSERT OR REPLACE INTO search_vectors (row_id, vector) SELECT row_id, ? FROM search_vectors WHERE change = ?',
  )
  const changed = connection.prepare(
    "SELECT change, row_id, vector FROM search_vectors WHERE change > ? AND vector <> x'' ORDER BY change",
  )
  let vectors: Int8Array = new Int8Array(0)
  const slots = new Map<number, number>()
  let seen = 0

  const takeUp = (size: number): void => {
    for (const { change, row_id, vector } of changed.all(seen).map((row) => readRow(VectorRow, row))) {
      seen = change
      const slot = slots.get(row_id) ?? slots.size
      if (vector.length !== size || slot >= MOST_KEPT) continue
      if ((slot + 1) * size > vectors.length) vectors = grown(vectors, size)
      slots.set(row_id, slot)
      vectors.set(new Int8Array(vector.buffer, vector.byteOffset, size), slot * size)
    }
  }
  return {
    async nearest({ vector, vectorOf, most }) {
      const news = await connection.read(() => missing.all(MOST_FILLED).map((row) => readRow(TextRow, row)))
      if (news.length > 0) {
        const found = news.map(({ change, text }) => ({ change, vector: vectorOf(text) }))
        const keep = (): void => {
          for (const item of found) put.run(new Uint8Array(item.vector), item.change)
        }
        // What cannot be kept, on a full disk, is worked out again; a search does not fail for it.
        await connection.write(keep).catch(() => undefined)
      }
      await connection.read(() => takeUp(vector.length))
      return compare({ slots, vectors }, vector, most)
    },
  }
}

interface Kept {
  readonly slots: ReadonlyMap<number, number>
  readonly vectors: Int8Array
}

/** By how many deviations each is nearer than the average of all, best first. */
function compare({ slots, vectors }: Kept, asked: Int8Array, most: number): Nearest {
  const near = new Float32Array(slots.size)
  let sum = 0
  let squares = 0
  for (let slot = 0; slot < near.length; slot++) {
    const product = productOf(asked, vectors, slot * asked.length)
    near[slot] = product
    sum += product
    squares += product * product
  }
  const mean = sum / near.length
  const deviation = Math.sqrt(squares / near.length - mean * mean)
  if (!(deviation > 0)) return []
  const rows = [...slots.keys()]
  return bestOf(near, most).map((slot) => ({
    row: rows[slot] ?? 0,
    score: ((near[slot] ?? 0) - mean) / deviation,
    nearness: (near[slot] ?? 0) / (127 * 127),
  }))
}

/** Four sums at once: they do not wait for each other, which halves the time. */
function productOf(asked: Int8Array, vectors: Int8Array, start: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let at = 0, from = start; at < asked.length; at += 4, from += 4) {
    first += Math.imul(asked[at] ?? 0, vectors[from] ?? 0)
    second += Math.imul(asked[at + 1] ?? 0, vectors[from + 1] ?? 0)
    third += Math.imul(asked[at + 2] ?? 0, vectors[from + 2] ?? 0)
    fourth += Math.imul(asked[at + 3] ?? 0, vectors[from + 3] ?? 0)
  }
  return first + second + third + fourth
}

type Nearest = Awaited<ReturnType<Meaning['nearest']>>

/** Where the greatest values stand, greatest first: few of many, so most are passed by at a glance. */
function bestOf(values: Float32Array, most: number): readonly number[] {
  const best: number[] = []
  let least = -Infinity
  for (const [at, value] of values.entries()) {
    if (best.length >= most && value <= least) continue
    let place = best.length
    while (place > 0 && (values[best[place - 1] ?? 0] ?? 0) < value) place -= 1
    best.splice(place, 0, at)
    if (best.length > most) best.pop()
    least = values[best.at(-1) ?? 0] ?? -Infinity
  }
  return best
}

function grown(vectors: Int8Array, size: number): Int8Array {
  const larger = new Int8Array(Math.max(1024 * size, vectors.length * 2))
  larger.set(vectors)
  return larger
}

const TextRow = z.object({ change: z.number(), text: z.string() })
const VectorRow = z.object({ change: z.number(), row_id: z.number(), vector: z.instanceof(Uint8Array) })
