import { closeSync, openSync, readSync } from 'node:fs'
import { indexWords } from '../word-index.ts'
import type { Multiplier } from './multiply.ts'
import { fours, openMultiplier } from './multiply.ts'

/** What a network has learnt, as it lies in memory. */
export interface Weights {
  /** Where a piece of a word stands among those that are known. */
  readonly placeOf: (piece: string) => number | undefined
  /** Numbers that say what a piece means. */
  readonly width: number
  readonly heads: number
  /** Pieces that a text may have. */
  readonly positions: number
  /** Puts down what a piece means before it has seen any other, at its place in a text. */
  begin(piece: number, at: number, state: Float32Array): void
  readonly begun: Norm
  readonly layers: readonly Layer[]
  readonly projection: Matrix
  readonly multiplier: Multiplier
  /** Where in its memory there is room to work. */
  readonly room: Room
}

export interface Matrix {
  /** Where its bytes begin in memory. */
  readonly at: number
  readonly rows: number
  /** Of each row. */
  readonly numbers: number
  /** What a byte of each row counts. */
  readonly scales: Float32Array
  readonly bias: Float32Array
}

export interface Norm {
  readonly scale: Float32Array
  readonly shift: Float32Array
}

export interface Layer {
  /** Question, answer and content of each piece, one below the other. */
  readonly look: Matrix
  readonly take: Matrix
  readonly taken: Norm
  readonly widen: Matrix
  readonly narrow: Matrix
  readonly thought: Norm
}

interface Room {
  readonly vectors: number
  readonly products: number
  /** Vectors there is room for. */
  readonly count: number
}

/** What a file begins with. */
interface Shape {
  readonly layers: number
  readonly width: number
  readonly heads: number
  readonly inner: number
  readonly pieces: number
  readonly positions: number
  readonly numbers: number
}

/** README.md beside the shipped file says how one is laid out. */
export async function readWeights(path: string): Promise<Weights> {
  const file = openSync(path, 'r')
  try {
    return await readAll(openCursor(file))
  } finally {
    closeSync(file)
  }
}

async function readAll(cursor: Cursor): Promise<Weights> {
  const shape = readShape(cursor)
  const { width, heads, positions } = shape
  const placeOf = indexWords(cursor.bytes(cursor.count()), shape.pieces)
  const { room, end } = roomOf(shape)
  const multiplier = await openMultiplier(end)
  const memory = new Uint8Array(multiplier.memory)
  let free = 0
  const matrix = (rows: number, numbers: number): Matrix => {
    const at = free
    free += rows * numbers
    const [scales, bias] = [cursor.floats(rows), cursor.floats(rows)]
    cursor.fill(memory.subarray(at, free))
    return { at, rows, numbers, scales, bias }
  }
  const norm = (): Norm => ({ scale: cursor.floats(width), shift: cursor.floats(width) })
  const places = cursor.floats(positions * width)
  const begun = norm()
  const layers = Array.from({ length: shape.layers }, (): Layer => ({
    look: matrix(3 * width, width),
    take: matrix(width, width),
    taken: norm(),
    widen: matrix(shape.inner, width),
    narrow: matrix(width, shape.inner),
    thought: norm(),
  }))
  const projection = matrix(shape.numbers, width)
  const begin = openBegin(
    { places, scales: cursor.floats(shape.pieces), pairs: cursor.bytes((shape.pieces * width) / 2) },
    width,
  )
  return { placeOf, width, heads, positions, begin, begun, layers, projection, multiplier, room }
}

interface Cursor {
  count(): number
  floats(length: number): Float32Array
  bytes(length: number): Uint8Array
  fill(room: Uint8Array): void
}

/** Everything is read to where it stays: no second copy of so much. */
function openCursor(file: number): Cursor {
  const fill = (room: Uint8Array): void => {
    for (let at = 0, taken = 1; at < room.length; at += taken) {
      taken = readSync(file, room, at, room.length - at, null)
      if (taken === 0) throw new Error('the file of the reader ends too soon')
    }
  }
  const bytes = (length: number): Uint8Array => {
    const room = new Uint8Array(length)
    fill(room)
    return room
  }
  return {
    fill,
    bytes,
    count: () => Buffer.from(bytes(4)).readUInt32LE(),
    floats: (length) => new Float32Array(bytes(4 * length).buffer),
  }
}

function readShape(cursor: Cursor): Shape {
  const count = (): number => cursor.count()
  return {
    layers: count(),
    width: count(),
    heads: count(),
    inner: count(),
    pieces: count(),
    positions: count(),
    numbers: count(),
  }
}

/** Behind all matrices: what goes in, and what comes out. */
function roomOf({ layers, width, inner, positions, numbers }: Shape): { room: Room; end: number } {
  const vectors = layers * (4 * width * width + 2 * width * inner) + numbers * width
  const longest = Math.max(inner, 3 * width)
  const count = fours(positions)
  const products = vectors + 2 * count * longest
  return { room: { vectors, products, count }, end: products + 4 * count * longest }
}

interface Beginning {
  readonly places: Float32Array
  readonly scales: Float32Array
  /** Four bits each, signed, the first one lower. */
  readonly pairs: Uint8Array
}

function openBegin({ places, scales, pairs }: Beginning, width: number): Weights['begin'] {
  return (piece, at, state) => {
    const scale = scales[piece] ?? 0
    for (let number = 0, from = (piece * width) / 2; number < width; number += 2, from++) {
      const pair = pairs[from] ?? 0
      const place = at * width + number
      state[place] = scale * ((pair << 28) >> 28) + (places[place] ?? 0)
      state[place + 1] = scale * ((pair << 24) >> 28) + (places[place + 1] ?? 0)
    }
  }
}
