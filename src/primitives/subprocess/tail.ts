/** The last bytes of a stream, in a ring that never grows. */
export interface Tail {
  add(chunk: Buffer): void
  text(): string
}

export function createTail(size: number): Tail {
  let ring: Buffer | null = null
  let end = 0
  let isFull = false
  return {
    add(chunk) {
      ring ??= Buffer.alloc(size)
      const part = chunk.subarray(-size)
      const first = part.subarray(0, size - end)
      ring.set(first, end)
      ring.set(part.subarray(first.length), 0)
      isFull ||= end + part.length >= size
      end = (end + part.length) % size
    },
    text() {
      if (ring === null) return ''
      if (!isFull) return ring.toString('utf8', 0, end)
      const bytes = Buffer.concat([ring.subarray(end), ring.subarray(0, end)])
      return bytes.toString('utf8', startOfCharacter(bytes))
    },
  }
}

/** The ring may have cut a character of up to four bytes: its rest is skipped. */
function startOfCharacter(bytes: Buffer): number {
  let at = 0
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++
  return at
}
