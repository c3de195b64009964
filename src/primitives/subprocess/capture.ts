import { constants } from 'node:buffer'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { createBytePile } from './byte-pile.ts'

/** The beginning of a stream. The rest is read too, or the child would stop at a full pipe. */
export interface Capture {
  readonly isTruncated: boolean
  text(): string
}

export function capture(stream: Readable, maxBytes: number): Capture {
  const limit = Math.min(maxBytes, constants.MAX_STRING_LENGTH)
  const pile = createBytePile()
  let isTruncated = false
  stream.on('data', (chunk: Buffer) => {
    if (isTruncated) return
    const room = limit - pile.size
    isTruncated = chunk.length > room
    if (room > 0) pile.add(isTruncated ? chunk.subarray(0, room) : chunk)
  })
  return {
    get isTruncated() {
      return isTruncated
    },
    text() {
      const bytes = pile.take()
      // A decoder holds back the half of a character at the cut.
      return isTruncated ? new StringDecoder('utf8').write(bytes) : bytes.toString('utf8')
    },
  }
}

/** Reads everything and keeps nothing. */
export function discard(stream: Readable): Capture {
  stream.resume()
  return { isTruncated: false, text: () => '' }
}
