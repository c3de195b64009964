import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StoredVector, Vectors } from '../store/vectors.ts'
import type { VectorScan } from './vector-scan.ts'
import { openVectorScan } from './vector-scan.ts'

/** Vectors with the ids 1, 2, 3 ..., as a store gives them. */
function storeOf(
  rows: readonly (readonly number[])[],
): Pick<Vectors, 'after'> & { readonly all: StoredVector[] } {
  const all = rows.map((numbers, at) => ({ id: at + 1, vec: Float32Array.from(numbers) }))
  return {
    all,
    after: (_model, id, limit) => Promise.resolve(all.filter((row) => row.id > id).slice(0, limit)),
  }
}

const nearTo = async (scan: VectorScan, ...vector: number[]): Promise<number[]> =>
  (await scan.nearest(Float32Array.from(vector))).map(({ id }) => id)

const FAR = Array.from({ length: 40 }, (_, at) => [0.01, 1, at / 100])

test('E1: what stands out as near is found, nearest first, however long the vectors are', async () => {
  const scan = openVectorScan('m', storeOf([...FAR, [2, 0.4, 0], [0.5, 0, 0]]))
  await scan.load()
  expect(await nearTo(scan, 9, 0, 0)).toEqual([42, 41])
})

test('E1: what was made since is taken in, each once', async () => {
  const store = storeOf(FAR)
  const scan = openVectorScan('m', store)
  await Promise.all([scan.load(), scan.load()])
  expect(scan.size).toBe(40)
  store.all.push({ id: 41, vec: Float32Array.of(1, 0, 0) })
  await scan.load()
  await scan.load()
  expect(scan.size).toBe(41)
  expect(await nearTo(scan, 1, 0, 0)).toEqual([41])
})

test('E1: memory is bounded: what is beyond is not compared', async () => {
  const scan = openVectorScan('m', storeOf([...FAR, [1, 0, 0]]), 40 * 3 * 4)
  await scan.load()
  expect(scan.size).toBe(40)
  expect(await nearTo(scan, 1, 0, 0)).not.toContain(41)
})

test('E1: nothing is near to a vector of another length, of nothing, or where there are none', async () => {
  const scan = openVectorScan('m', storeOf(FAR))
  expect(await nearTo(scan, 1, 0, 0)).toEqual([])
  await scan.load()
  expect(await nearTo(scan, 1, 0)).toEqual([])
  expect(await nearTo(scan, 0, 0, 0)).toEqual([])
})

test('E1: the order is that of the angles, for any vectors', async () => {
  const vector = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 3, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(fc.array(vector, { minLength: 1, maxLength: 30 }), vector, async (rows, query) => {
      const scan = openVectorScan('m', storeOf(rows))
      await scan.load()
      const near = await nearTo(scan, ...query)
      const angles = near.map((id) => cosine(rows[id - 1] ?? [], query))
      for (const [at, angle] of angles.entries()) {
        expect(angle).toBeGreaterThan(-1e-6)
        if (at > 0) expect(angle).toBeLessThanOrEqual((angles[at - 1] ?? 0) + 1e-6)
      }
      const rest = rows.map((row) => cosine(row, query)).filter((_, at) => !near.includes(at + 1))
      if (angles.length > 0) expect(Math.max(-1, ...rest)).toBeLessThanOrEqual((angles.at(-1) ?? 0) + 1e-6)
    }),
  )
})

function cosine(a: readonly number[], b: readonly number[]): number {
  const product = a.reduce((sum, number, at) => sum + number * (b[at] ?? 0), 0)
  return product === 0 ? 0 : product / (Math.hypot(...a) * Math.hypot(...b))
}
