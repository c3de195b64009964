import { productOf } from '../product.ts'
import type { Layer, Matrix, Norm, Weights } from './weights.ts'

/** Makes a vector of the pieces of a text: each piece looks at all others, layer by layer, and their mean is what it is about. */
type Network = (pieces: readonly number[]) => Float32Array

export function openNetwork(weights: Weights): Network {
  const { width, heads, layers, projection } = weights
  const apply = openApply(weights)
  const passThrough = (state: Float32Array, count: number, layer: Layer): void => {
    addTo(state, apply(layer.take, attend(apply(layer.look, state, count), { count, width, heads }), count))
    normalize(state, layer.taken)
    addTo(state, apply(layer.narrow, bend(apply(layer.widen, state, count)), count))
    normalize(state, layer.thought)
  }
  return (pieces) => {
    const state = new Float32Array(pieces.length * width)
    for (const [at, piece] of pieces.entries()) weights.begin(piece, at, state)
    normalize(state, weights.begun)
    for (const layer of layers) passThrough(state, pieces.length, layer)
    return unit(apply(projection, unit(meanOf(state, width)), 1))
  }
}

/** The greatest value of a number of 16 bits: with 1,536 products of it and a byte the sum still fits into 32 bits. */
const GREATEST = 8000
/** Above zero, cutting off what follows the point rounds: `Math.round` takes several times as long. */
const ABOVE_ZERO = 8192

type Apply = (matrix: Matrix, state: Float32Array, count: number) => Float32Array

/** Every vector of `state` by a matrix of bytes: rounded to 13 bits of its own scale. */
function openApply({ multiplier, room }: Weights): Apply {
  const { memory } = multiplier
  const vectors = new Int16Array(memory, room.vectors)
  const products = new Int32Array(memory, room.products)
  const steps = new Float32Array(room.count)
  return ({ at: matrix, rows, numbers, scales, bias }, state, count) => {
    const found = new Float32Array(count * rows)
    for (let each = 0, at = 0; each < count; each++) {
      const step = greatest(state, at, numbers) / GREATEST || 1
      const finely = 1 / step
      steps[each] = step
      for (const end = at + numbers; at < end; at++)
        vectors[at] = (((state[at] ?? 0) * finely + ABOVE_ZERO + 0.5) | 0) - ABOVE_ZERO
    }
    multiplier.multiply({ matrix, vectors: room.vectors, products: room.products, rows, numbers, count })
    for (let each = 0, at = 0; each < count; each++) {
      const step = steps[each] ?? 0
      for (let row = 0; row < rows; row++, at++)
        found[at] = (products[at] ?? 0) * step * (scales[row] ?? 0) + (bias[row] ?? 0)
    }
    return found
  }
}

interface Shape {
  readonly count: number
  readonly width: number
  readonly heads: number
}

/** What each piece takes from the others: the more alike its question and their answer are, the more. */
function attend(seen: Float32Array, { count, width, heads }: Shape): Float32Array {
  const size = width / heads
  const taken = new Float32Array(count * width)
  const shares = new Float32Array(count)
  const contents = new Float32Array(size * count)
  for (let first = 0; first < width; first += size) {
    for (let other = 0, from = 2 * width + first; other < count; other++, from += 3 * width)
      for (let at = 0; at < size; at++) contents[at * count + other] = seen[from + at] ?? 0
    for (let each = 0; each < count; each++) {
      const asked = each * 3 * width + first
      const question = seen.subarray(asked, asked + size)
      for (let other = 0, answer = width + first; other < count; other++, answer += 3 * width)
        shares[other] = productOf(question, seen, answer) / Math.sqrt(size)
      toParts(shares)
      const to = each * width + first
      for (let at = 0; at < size; at++) taken[to + at] = productOf(shares, contents, at * count)
    }
  }
  return taken
}

/** Parts of one, the greater the more alike. */
function toParts(alike: Float32Array): void {
  let most = -Infinity
  for (let at = 0; at < alike.length; at++) most = Math.max(most, alike[at] ?? 0)
  let sum = 0
  for (let at = 0; at < alike.length; at++) {
    const part = Math.exp((alike[at] ?? 0) - most)
    alike[at] = part
    sum += part
  }
  for (let at = 0; at < alike.length; at++) alike[at] = (alike[at] ?? 0) / sum
}

/** Every vector around zero, with the same spread, and then as this place of the network has learnt. */
function normalize(state: Float32Array, { scale, shift }: Norm): void {
  const width = scale.length
  for (let from = 0; from < state.length; from += width) {
    let [sum, squares] = [0, 0]
    for (let at = from; at < from + width; at++) {
      const value = state[at] ?? 0
      sum += value
      squares += value * value
    }
    const mean = sum / width
    const spread = Math.sqrt(squares / width - mean * mean + 1e-12)
    for (let at = 0; at < width; at++)
      state[from + at] = (((state[from + at] ?? 0) - mean) / spread) * (scale[at] ?? 0) + (shift[at] ?? 0)
  }
}

function addTo(state: Float32Array, more: Float32Array): void {
  for (let at = 0; at < state.length; at++) state[at] = (state[at] ?? 0) + (more[at] ?? 0)
}

function meanOf(state: Float32Array, width: number): Float32Array {
  const mean = new Float32Array(width)
  for (let at = 0; at < state.length; at++) mean[at % width] = (mean[at % width] ?? 0) + (state[at] ?? 0)
  return mean
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares) || 1
  return vector.map((value) => value / length)
}

function greatest(values: Float32Array, from: number, length: number): number {
  let most = 0
  for (let at = from; at < from + length; at++) most = Math.max(most, Math.abs(values[at] ?? 0))
  return most
}

/** How finely the curve is known, and from where on it is a straight line. */
const STEPS = 256
const STRAIGHT = 5
const CURVE = Float32Array.from({ length: 2 * STRAIGHT * STEPS + 2 }, (_, at) =>
  curveAt(at / STEPS - STRAIGHT),
)

/** Lets through what is above zero, and little of what is below (GELU), read off a curve. */
function bend(values: Float32Array): Float32Array {
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0
    if (value >= STRAIGHT) continue
    const place = (Math.max(value, -STRAIGHT) + STRAIGHT) * STEPS
    const from = Math.floor(place)
    const before = CURVE[from] ?? 0
    values[at] = before + ((CURVE[from + 1] ?? 0) - before) * (place - from)
  }
  return values
}

/** By the error function, after Abramowitz and Stegun 7.1.26: exact to seven digits. */
function curveAt(value: number): number {
  const x = Math.abs(value) / Math.SQRT2
  const t = 1 / (1 + 0.327_591_1 * x)
  const tail =
    ((((1.061_405_429 * t - 1.453_152_027) * t + 1.421_413_741) * t - 0.284_496_736) * t + 0.254_829_592) *
    t *
    Math.exp(-x * x)
  return value * (value < 0 ? tail / 2 : 1 - tail / 2)
}
