import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** A stream that undoes one content encoding; null for none, and for one that we do not know and did not ask for. */
export function createDecoder(encoding: string, firstByte: number): Transform | null {
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      // Some servers leave the zlib wrapper away; its first byte always ends in 8.
      return (firstByte & 0x0f) === 0x08 ? createInflate() : createInflateRaw()
    case 'br':
      return createBrotliDecompress()
    default:
      return null
  }
}
