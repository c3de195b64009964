/** The product of a vector and as many numbers from a place on. Four sums at a time: none waits for the one before. */
export function productOf(vector: Float32Array, numbers: Float32Array, from: number): number {
  const { length } = vector
  let first = 0
  let second = 0
  let third = 0
  let fourth = 0
  let at = 0
  for (; at + 3 < length; at += 4) {
    first += (vector[at] ?? 0) * (numbers[from + at] ?? 0)
    second += (vector[at + 1] ?? 0) * (numbers[from + at + 1] ?? 0)
    third += (vector[at + 2] ?? 0) * (numbers[from + at + 2] ?? 0)
    fourth += (vector[at + 3] ?? 0) * (numbers[from + at + 3] ?? 0)
  }
  for (; at < length; at++) first += (vector[at] ?? 0) * (numbers[from + at] ?? 0)
  return first + second + third + fourth
}
