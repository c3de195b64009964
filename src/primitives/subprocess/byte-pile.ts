/** Bytes that come in pieces. */
export interface BytePile {
  readonly size: number
  add(piece: Buffer): void
  /** All bytes in order; the pile is empty after. */
  take(): Buffer
  /** Empties it: to put together what nobody wants would cost time. */
  drop(): void
}

/** From here on small pieces are copied together: one Buffer object for each byte would cost a hundred times its size. */
const LOOSE_PIECES = 16
const SMALL_BYTES = 4096
const SLAB_BYTES = 64 * 1024

export function createBytePile(): BytePile {
  let pieces: Buffer[] = []
  let size = 0
  let slab: Buffer | null = null
  let from = 0
  let to = 0

  const closeSlab = (): void => {
    if (slab !== null && to > from) pieces.push(slab.subarray(from, to))
    from = to
  }

  const copy = (piece: Buffer): void => {
    if (slab === null || to + piece.length > slab.length) {
      closeSlab()
      slab = Buffer.allocUnsafe(SLAB_BYTES)
      from = to = 0
    }
    to += piece.copy(slab, to)
  }

  const drop = (): void => {
    pieces = []
    size = 0
    slab = null
    from = to = 0
  }

  return {
    get size() {
      return size
    },
    add(piece) {
      size += piece.length
      if (pieces.length >= LOOSE_PIECES && piece.length <= SMALL_BYTES) {
        copy(piece)
        return
      }
      closeSlab()
      pieces.push(piece)
    },
    take() {
      closeSlab()
      const [only] = pieces
      const all = only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces, size)
      drop()
      return all
    },
    drop,
  }
}
