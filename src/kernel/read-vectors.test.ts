import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { readVectors } from './read-vectors.ts'

const base64 = (...numbers: readonly number[]): string =>
  Buffer.from(Float32Array.from(numbers).buffer).toString('base64')

test.each<readonly [string, JsonObject]>([
  ['a list', { output: [[1, 2]] }],
  ['under vectors', { output: { vectors: [[1, 2]] } }],
  ['base64', { output: [base64(1, 2)] }],
  ['JSON as text', { output: '{"vectors":[[1,2]]}', encoding: 'json' }],
])('E1: vectors are read as %s', (_form, data) => {
  expect(readVectors('embedder', data, 1)).toEqual([Float32Array.of(1, 2)])
})

test.each<readonly [JsonObject, number, string]>([
  [{ output: 'no' }, 1, 'it is no list of vectors'],
  [{ output: null }, 1, 'it is no list of vectors'],
  [{ output: { vectors: 7 } }, 1, 'it is no list of vectors'],
  [{ output: '{"vectors":', encoding: 'json' }, 1, 'it is no list of vectors'],
  [{ output: [] }, 1, 'it holds 0 vectors for 1 texts'],
  [{ output: [[1], [1]] }, 1, 'it holds 2 vectors for 1 texts'],
  [{ output: [[]] }, 1, 'a vector has 0 numbers'],
  [{ output: [''] }, 1, 'a vector has 0 numbers'],
  [{ output: [Array.from({ length: LIMITS.vectorNumbers + 1 }, () => 1)] }, 1, 'a vector has 8193 numbers'],
  [{ output: [[1, null]] }, 1, 'a vector is no list of numbers'],
  [{ output: [['1']] }, 1, 'a vector is no list of numbers'],
  [{ output: [7] }, 1, 'a vector is no list of numbers'],
  [{ output: ['abc'] }, 1, 'a vector is no list of numbers'],
  [{ output: [base64(Number.NaN)] }, 1, 'a vector holds what is no number'],
  [{ output: [[1e300]] }, 1, 'a vector holds what is no number'],
  [{ output: [[1, 2], [1]] }, 2, 'its vectors have 2 numbers, and one has 1'],
])('E1: what is no vector is refused: %j', (data, wanted, reason) => {
  expect(() => readVectors('embedder', data, wanted)).toThrow(`Cannot use what "embedder" answers: ${reason}`)
})

test('E1: whatever comes back is vectors or a refusal', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, wanted) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is JSON by its making
      const data = { output: value } as JsonObject
      try {
        expect(readVectors('embedder', data, wanted)).toHaveLength(wanted)
      } catch (error) {
        expect(error).toMatchObject({ code: 'TOOL_FAILED' })
      }
    }),
  )
})
