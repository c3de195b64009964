import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject, parsePlain } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'

/**
 * What an embedder gave back: a list of vectors, or an object with one under `vectors`. Each is a list of numbers, or
 * the base64 of 32-bit numbers. Anything else, or another number of them than asked for, is refused.
 */
export function readVectors(
  tool: string,
  { output, encoding }: JsonObject,
  wanted: number,
): readonly Float32Array[] {
  // What holds very many numbers comes as text.
  const given = encoding === 'json' && typeof output === 'string' ? parsePlain(output) : output
  const list = isJsonObject(given) ? given['vectors'] : given
  if (!Array.isArray(list)) throw refused(tool, 'it is no list of vectors')
  if (list.length !== wanted) throw refused(tool, `it holds ${list.length} vectors for ${wanted} texts`)
  const vectors = list.map((item: JsonValue) => readVector(tool, item))
  const [first] = vectors
  const other = vectors.find(({ length }) => length !== first?.length)
  if (other !== undefined)
    throw refused(tool, `its vectors have ${first?.length} numbers, and one has ${other.length}`)
  return vectors
}

function readVector(tool: string, item: JsonValue): Float32Array {
  const numbers = typeof item === 'string' ? fromBase64(item) : Array.isArray(item) ? fromList(item) : null
  if (numbers === null) throw refused(tool, 'a vector is no list of numbers')
  if (numbers.length === 0 || numbers.length > LIMITS.vectorNumbers)
    throw refused(tool, `a vector has ${numbers.length} numbers, 1 to ${LIMITS.vectorNumbers} are possible`)
  // What a number of 32 bits cannot hold is endless too.
  if (!numbers.every((number) => Number.isFinite(number)))
    throw refused(tool, 'a vector holds what is no number')
  return numbers
}

function fromList(list: readonly JsonValue[]): Float32Array | null {
  return list.every((number) => typeof number === 'number') ? Float32Array.from(list) : null
}

function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64')
  const size = Float32Array.BYTES_PER_ELEMENT
  if (bytes.length % size !== 0) return null
  return Float32Array.from({ length: bytes.length / size }, (_, at) => bytes.readFloatLE(at * size))
}

function refused(tool: string, reason: string): KiwiError {
  return new KiwiError('TOOL_FAILED', `Cannot use what "${tool}" answers: ${reason}`, {
    hint: 'Set search.embedder to a tool that takes texts and gives one vector for each',
  })
}
