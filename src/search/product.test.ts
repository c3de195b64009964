import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { productOf } from './product.ts'

test('S3: a product is the sum of all products, whatever the length and the place', () => {
  const numbers = fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 40 })
  fc.assert(
    fc.property(numbers, numbers, (vector, before) => {
      const all = [...before, ...vector.map((number) => number + 1)]
      const sum = vector.reduce((total, number) => total + number * (number + 1), 0)
      expect(productOf(Float32Array.from(vector), Float32Array.from(all), before.length)).toBe(sum)
    }),
  )
})
