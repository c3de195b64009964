import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fours, openMultiplier } from './multiply.ts'

const VECTORS = 64 * 1024
const PRODUCTS = 2 * VECTORS

test('S3: every vector is multiplied with every row, as plain arithmetic does it', async () => {
  const multiplier = await openMultiplier(3 * VECTORS)
  const bytes = new Int8Array(multiplier.memory, 0)
  const vectors = new Int16Array(multiplier.memory, VECTORS)
  const products = new Int32Array(multiplier.memory, PRODUCTS)
  const shape = fc.record({
    rows: fc.integer({ min: 1, max: 6 }).map((pairs) => 2 * pairs),
    numbers: fc.integer({ min: 1, max: 6 }).map((eights) => 8 * eights),
    count: fc.integer({ min: 1, max: 9 }),
    seed: fc.integer(),
  })
  fc.assert(
    fc.property(shape, ({ rows, numbers, count, seed }) => {
      const number = (at: number, most: number): number => ((seed + at * 7919) % (2 * most + 1)) - most
      for (let at = 0; at < rows * numbers; at++) bytes[at] = number(at, 127) % 128
      for (let at = 0; at < fours(count) * numbers; at++) vectors[at] = number(at, 8000) % 8001
      multiplier.multiply({ matrix: 0, vectors: VECTORS, products: PRODUCTS, rows, numbers, count })
      for (let each = 0; each < count; each++) {
        for (let row = 0; row < rows; row++) {
          let sum = 0
          for (let at = 0; at < numbers; at++)
            sum += (bytes[row * numbers + at] ?? 0) * (vectors[each * numbers + at] ?? 0)
          expect(products[each * rows + row]).toBe(sum)
        }
      }
    }),
    { numRuns: 100 },
  )
})
