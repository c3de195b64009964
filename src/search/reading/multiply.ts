/**
 * Products of a matrix with some vectors, eight numbers at a time. The engine of Node has such instructions for WebAssembly
 * alone: in plain JavaScript the same takes forty times as long.
 */
export interface Multiplier {
  /** Where matrices (bytes), vectors (16 bits) and products (32 bits) lie. */
  readonly memory: ArrayBuffer
  /** For each vector, the product with each row. Rows are a multiple of 2 and have one of 8 numbers; there is room for a multiple of 4 vectors. */
  multiply(order: Product): void
}

interface Product {
  /** Where each begins in memory. */
  readonly matrix: number
  readonly vectors: number
  readonly products: number
  readonly rows: number
  /** Of a row, and of a vector. */
  readonly numbers: number
  readonly count: number
}

/** As much of it as is used here: the types of Node leave it out. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>
  readonly Memory: new () => { readonly buffer: ArrayBuffer }
}

const PAGE = 65_536

/** Vectors are taken four at a time. */
export function fours(count: number): number {
  return Math.ceil(count / 4) * 4
}

export async function openMultiplier(bytes: number): Promise<Multiplier> {
  const { instance } = await WebAssembly.instantiate(moduleOf(Math.ceil(bytes / PAGE)))
  const { memory, multiply } = instance.exports
  if (!(memory instanceof WebAssembly.Memory) || typeof multiply !== 'function')
    throw new TypeError('the module that multiplies exports something else')
  return {
    memory: memory.buffer,
    multiply: ({ matrix, vectors, products, rows, numbers, count }) => {
      multiply(matrix, vectors, products, rows, numbers, fours(count))
    },
  }
}

type Code = readonly number[]

/** Parameters, then what the function itself keeps: nine whole numbers, then eleven times four of them side by side. */
const [MATRIX, VECTORS, PRODUCTS, ROWS, NUMBERS, COUNT] = [0, 1, 2, 3, 4, 5]
const [ROW, VECTOR, AT, END, FROM, TO, STRIDE, TWICE, THRICE] = [6, 7, 8, 9, 10, 11, 12, 13, 14]
/** Sums of the upper row with each vector, and of the lower one. */
const SUMS = [
  [15, 16, 17, 18],
  [19, 20, 21, 22],
] as const
const [UPPER, LOWER, EIGHT] = [23, 24, 25]
const WIDE = 11

/* Instructions, as the specification of WebAssembly numbers them. */
const get = (local: number): Code => [0x20, local]
const set = (local: number, value: Code): Code => [...value, 0x21, local]
const tee = (local: number, value: Code): Code => [...value, 0x22, local]
const whole = (value: number): Code => [0x41, value]
const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a]
const times = (a: Code, b: Code): Code => [...a, ...b, 0x6c]
const doubled = (a: Code, bits: number): Code => [...a, ...whole(bits), 0x74]
const loopWhile = (body: Code, isLess: readonly [Code, Code]): Code => [
  0x03,
  0x40,
  ...body,
  ...isLess[0],
  ...isLess[1],
  0x49,
  0x0d,
  0x00,
  0x0b,
]
const store = (at: Code, value: Code): Code => [...at, ...value, 0x36, 2, 0]
const NOTHING: Code = [0xfd, 0x0c, ...Array.from({ length: 16 }, () => 0)]
const loadBytes = (at: Code): Code => [...at, 0xfd, 0x01, 0, 0]
const loadEight = (at: Code): Code => [...at, 0xfd, 0x00, 0, 0]
const addFour = (a: Code, b: Code): Code => [...a, ...b, 0xfd, 0xae, 0x01]
const productOf = (a: Code, b: Code): Code => [...a, ...b, 0xfd, 0xba, 0x01]
const lane = (a: Code, at: number): Code => [...a, 0xfd, 0x1b, at]
const addProduct = (sum: number, row: number): Code =>
  set(sum, addFour(get(sum), productOf(get(row), get(EIGHT))))
const acrossLanes = (a: Code): Code => add(add(lane(a, 0), lane(a, 1)), add(lane(a, 2), lane(a, 3)))

/** Where each of four vectors goes on. */
const VECTORS_AT: readonly Code[] = [
  get(FROM),
  add(get(FROM), get(STRIDE)),
  add(get(FROM), get(TWICE)),
  add(get(FROM), get(THRICE)),
]

/** Two rows and four vectors share what was read of each: reading takes as long as multiplying. */
const BODY: Code = [
  ...set(STRIDE, doubled(get(NUMBERS), 1)),
  ...set(TWICE, doubled(get(STRIDE), 1)),
  ...set(THRICE, add(get(STRIDE), get(TWICE))),
  ...loopWhile(
    [
      ...set(VECTOR, whole(0)),
      ...loopWhile(
        [
          ...SUMS.flat().flatMap((sum) => set(sum, NOTHING)),
          ...set(AT, add(get(MATRIX), times(get(ROW), get(NUMBERS)))),
          ...set(END, add(get(AT), get(NUMBERS))),
          ...set(FROM, add(get(VECTORS), times(get(VECTOR), get(STRIDE)))),
          ...loopWhile(
            [
              ...set(UPPER, loadBytes(get(AT))),
              ...set(LOWER, loadBytes(add(get(AT), get(NUMBERS)))),
              ...VECTORS_AT.flatMap((from, at) => [
                ...set(EIGHT, loadEight(from)),
                ...addProduct(SUMS[0][at] ?? 0, UPPER),
                ...addProduct(SUMS[1][at] ?? 0, LOWER),
              ]),
              ...set(FROM, add(get(FROM), whole(16))),
            ],
            [tee(AT, add(get(AT), whole(8))), get(END)],
          ),
          ...set(TO, add(get(PRODUCTS), doubled(add(times(get(VECTOR), get(ROWS)), get(ROW)), 2))),
          ...SUMS[0].flatMap((sum, at) => [
            ...store(get(TO), acrossLanes(get(sum))),
            ...store(add(get(TO), whole(4)), acrossLanes(get(SUMS[1][at] ?? 0))),
            ...set(TO, add(get(TO), doubled(get(ROWS), 2))),
          ]),
        ],
        [tee(VECTOR, add(get(VECTOR), whole(SUMS[0].length))), get(COUNT)],
      ),
    ],
    [tee(ROW, add(get(ROW), whole(SUMS.length))), get(ROWS)],
  ),
  0x0b,
]

/** `\0asm`, version 1. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
const WHOLE = 0x7f
const FOUR = 0x7b

function moduleOf(pages: number): Uint8Array<ArrayBuffer> {
  const locals = [2, THRICE - COUNT, WHOLE, WIDE, FOUR]
  return Uint8Array.from([
    ...HEADER,
    ...section(1, [1, 0x60, 6, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, ...counted(pages)]),
    ...section(7, [2, ...named('memory'), 2, 0, ...named('multiply'), 0, 0]),
    ...section(10, [1, ...counted(locals.length + BODY.length), ...locals, ...BODY]),
  ])
}

function section(id: number, content: Code): Code {
  return [id, ...counted(content.length), ...content]
}

function named(name: string): Code {
  return [name.length, ...Buffer.from(name, 'latin1')]
}

/** Seven bits in a byte, the lowest first. */
function counted(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, ...counted(value >>> 7)]
}
