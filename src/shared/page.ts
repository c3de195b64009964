/** A part of something large, as text. */
export interface Page {
  readonly text: string
  readonly offset: number
  /** Of the whole. */
  readonly bytes: number
  /** Where the next page starts; null at the end. */
  readonly next_offset: number | null
}

/** No character is longer, so a page of this many bytes always gets on. */
const SMALLEST = 4

/** How many bytes to read for the page at `offset` of something of `size` bytes. */
export function pageBytes(size: number, offset: number, limit: number): number {
  return Math.max(0, Math.min(Math.max(limit, SMALLEST), size - offset))
}

/** The page that begins with `bytes`; what they hold of a character they do not finish is left to the next. */
export function pageOf(bytes: Uint8Array, offset: number, size: number): Page {
  const isLast = offset + bytes.length >= size
  const end = isLast ? bytes.length : wholeCharacters(bytes)
  return {
    text: Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('utf8'),
    offset,
    bytes: size,
    next_offset: isLast ? null : offset + end,
  }
}

function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(SMALLEST, bytes.length); back++) {
    const byte = bytes.at(-back) ?? 0
    if ((byte & 0xc0) !== 0x80) return lengthFrom(byte) > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** How long a character is that begins with this byte. */
function lengthFrom(lead: number): number {
  if (lead < 0xc0) return 1
  if (lead < 0xe0) return 2
  return lead < 0xf0 ? 3 : 4
}
