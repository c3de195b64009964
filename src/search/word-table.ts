import { readFile } from 'node:fs/promises'
import { isTelling } from './telling.ts'
import { indexWords } from './word-index.ts'

/** Turns text into what it is about: an order of numbers that texts about the same have in common. */
export interface WordTable {
  /** What an item is about; null when the table knows none of the words, or cannot be read. */
  vectorOf(text: string): Int8Array | null
  /** What a request is after, near to the items that do it: its words weigh otherwise, and their sum is turned. */
  queryOf(text: string): Int8Array | null
  /** Those of the words, in lower case, that are spelt as people spell them. */
  spelt(words: readonly string[]): ReadonlySet<string>
  readonly size: number
}

/**
 * Words and their vectors, shipped as data (see README.md beside the file): counts of words and numbers, the words by
 * frequency, a scale for each in items and one in requests, the map that turns a request, then the numbers of all words, two
 * in a byte. Read when it is first needed, once.
 */
export function openWordTable(file: string): () => Promise<WordTable> {
  let table: Promise<WordTable> | null = null
  return () => (table ??= readTable(file).catch(() => EMPTY))
}

const EMPTY: WordTable = { vectorOf: () => null, queryOf: () => null, spelt: () => new Set(), size: 0 }

async function readTable(file: string): Promise<WordTable> {
  const bytes = await readFile(file)
  const [count, size, letters] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8)]
  const placeOf = indexWords(bytes.subarray(HEADER, HEADER + letters), count)
  const inItems = HEADER + letters
  const inRequests = inItems + count * 4
  const map = inRequests + count * 4
  const pairs = bytes.subarray(map + size * size * 4)
  const sumOf = (text: string, scales: number): Float32Array | null => {
    const sum = new Float32Array(size)
    let isKnown = false
    for (const place of tokensOf(text).flatMap((word) => placesOf(word, placeOf))) {
      isKnown = true
      const scale = bytes.readFloatLE(scales + place * 4)
      for (let at = 0, from = (place * size) / 2; at < size; at += 2, from++) {
        const pair = pairs[from] ?? 0
        // Four bits each, signed, the first one lower.
        sum[at] = (sum[at] ?? 0) + scale * ((pair << 28) >> 28)
        sum[at + 1] = (sum[at + 1] ?? 0) + scale * ((pair << 24) >> 28)
      }
    }
    return isKnown ? sum : null
  }
  return {
    size,
    vectorOf(text) {
      const sum = sumOf(text, inItems)
      return sum && toBytes(sum)
    },
    queryOf(text) {
      const sum = sumOf(text, inRequests)
      if (sum === null) return null
      const turned = new Float32Array(size)
      for (const [row, value] of sum.entries()) {
        for (let at = 0, from = map + row * size * 4; at < size; at++, from += 4)
          turned[at] = (turned[at] ?? 0) + value * bytes.readFloatLE(from)
      }
      return toBytes(turned)
    },
    spelt: (asked) => new Set(asked.filter((word) => placeOf(word) !== undefined)),
  }
}

const HEADER = 12
/** Words of a text that say what it is about; a whole document says no more. */
const MOST_TOKENS = 200

function tokensOf(text: string): readonly string[] {
  return text
    .slice(0, 4000)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(isTelling)
    .slice(0, MOST_TOKENS)
}

/** Of the more frequent words a name may be glued together; rare ones would be found in anything. */
const OFTEN = 15_000
const SHORTEST = 3
const LONGEST = 40

/** Where a word stands; of one that nobody knows, such as `seoanalysis`, the two that it is best taken apart into. */
function placesOf(word: string, placeOf: (word: string) => number | undefined): readonly number[] {
  const place = placeOf(word)
  if (place !== undefined) return [place]
  let best: readonly number[] = []
  let least = Infinity
  for (let at = SHORTEST; at <= Math.min(word.length, LONGEST) - SHORTEST; at++) {
    const [first = OFTEN, second = OFTEN] = [placeOf(word.slice(0, at)), placeOf(word.slice(at))]
    if (first >= OFTEN || second >= OFTEN || first + second >= least) continue
    best = [first, second]
    least = first + second
  }
  return best
}

function toBytes(vector: Float32Array): Int8Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares) || 1
  return Int8Array.from(vector, (value) => Math.round((value / length) * 127))
}
