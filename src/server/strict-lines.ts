import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { idOf, invalidRequest, readMessage, tooLarge } from './read-message.ts'

const NEWLINE = 0x0a
const OPENING = 0x7b
const EMPTY = Buffer.alloc(0)
const BLANKS = Buffer.from(' \t\r\n')
/** Kept of both ends of a line that is too long: its id stands in one of them. */
const END_BYTES = 256

/**
 * Reads lines that hold one message each, as every reader would read it, however the input is cut. Of lines that do not,
 * and of messages that `take` finds a fault in, `refuse` is told.
 */
export function strictLines(
  take: (message: unknown) => MessageFault | null,
  refuse: (fault: MessageFault) => void,
): (chunk: Buffer) => void {
  let line = openLine()

  const end = (): void => {
    const ended = line
    line = openLine()
    const fault =
      ended.size > LIMITS.lineBytes
        ? tooLarge(LIMITS.lineBytes, idAtEnds(ended.head, ended.tail))
        : read(ended.pieces.length === 1 ? (ended.pieces[0] ?? EMPTY) : Buffer.concat(ended.pieces), take)
    if (fault !== null) refuse(fault)
  }

  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(line, chunk.subarray(from, at))
      end()
      from = at + 1
    }
    if (from < chunk.length) add(line, chunk.subarray(from))
  }
}

/** A line whose end has not come; of one that is too long only its ends are kept. */
interface Line {
  pieces: Buffer[]
  size: number
  head: Buffer
  tail: Buffer
}

function openLine(): Line {
  return { pieces: [], size: 0, head: EMPTY, tail: EMPTY }
}

/** Its ends are looked at only when it is too long. */
function add(line: Line, piece: Buffer): void {
  line.size += piece.length
  if (line.size <= LIMITS.lineBytes) {
    line.pieces.push(piece)
    return
  }
  for (const late of [...line.pieces, piece]) {
    if (line.head.length < END_BYTES) line.head = Buffer.concat([line.head, late]).subarray(0, END_BYTES)
    line.tail = Buffer.concat([line.tail, late.subarray(-END_BYTES)]).subarray(-END_BYTES)
  }
  line.pieces = []
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => BLANKS.includes(byte))
}

function read(bytes: Buffer, take: (message: unknown) => MessageFault | null): MessageFault | null {
  // What begins like a message is none that is blank.
  if (bytes[0] !== OPENING && isBlank(bytes)) return null
  const message = readMessage(bytes)
  if ('fault' in message) return message.fault
  const { value } = message
  return Array.isArray(value) ? invalidRequest('Send one message a line') : take(value)
}

/** Where clients write it: among the first keys or as one of the last, never inside another object. */
function idAtEnds(head: Buffer, tail: Buffer): MessageFault['id'] {
  const first =
    /^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(0|[1-9]\d{0,14}|"[^"\\]*")\s*[,}]/.exec(
      head.toString('utf8'),
    )
  const last = /"id"\s*:\s*(0|[1-9]\d{0,14}|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
    tail.toString('utf8'),
  )
  const [, text] = first ?? last ?? []
  const message = readMessage(Buffer.from(`{"id":${text ?? null}}`))
  return 'value' in message ? idOf(message.value) : undefined
}
