import { Transform } from 'node:stream'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { TOO_LARGE, readMessage } from './read-message.ts'

const NEWLINE = 0x0a
const BLANKS = Buffer.from(' \t\r\n')

/** Lets through the lines that hold a message as every reader would read it; of the others `refuse` is told. */
export function strictLines(refuse: (fault: MessageFault) => void): Transform {
  /** The beginning of a line whose end has not come; of one that is too long only the size is kept. */
  let pieces: Buffer[] = []
  let size = 0

  const add = (piece: Buffer): void => {
    size += piece.length
    if (size > LIMITS.requestBytes) pieces = []
    else pieces.push(piece)
  }

  /** The line that just ended, when it may pass. */
  const take = (): Buffer | null => {
    const line = Buffer.concat(pieces)
    const read = size > LIMITS.requestBytes ? { fault: TOO_LARGE } : readMessage(line)
    pieces = []
    size = 0
    if (!('fault' in read)) return line
    const isBlank = read.fault !== TOO_LARGE && line.every((byte) => BLANKS.includes(byte))
    if (!isBlank) refuse(read.fault)
    return null
  }

  return new Transform({
    readableObjectMode: true,
    transform(chunk: Buffer, _encoding, done) {
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        add(chunk.subarray(from, at + 1))
        const line = take()
        if (line !== null) this.push(line)
        from = at + 1
      }
      if (from < chunk.length) add(chunk.subarray(from))
      done()
    },
  })
}
