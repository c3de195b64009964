import { Transform } from 'node:stream'
import { isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { idOf, invalidRequest, readMessage, tooLarge } from './read-message.ts'

const NEWLINE = 0x0a
/** Kept of both ends of a line that is too long: its id stands in one of them. */
const END_BYTES = 256

/** Lets through the lines that hold one message as every reader would read it; of the others `refuse` is told. */
export function strictLines(refuse: (fault: MessageFault) => void): Transform {
  let line = openLine()

  /** The line that just ended, when it may pass. */
  const take = (): Buffer | null => {
    const ended = line
    line = openLine()
    if (ended.size > LIMITS.lineBytes) {
      refuse(tooLarge(LIMITS.lineBytes, idAtEnds(ended.head, ended.tail)))
      return null
    }
    const bytes = Buffer.concat(ended.pieces)
    if (isBlank(bytes)) return null
    const fault = faultOf(bytes)
    if (fault === null) return bytes
    refuse(fault)
    return null
  }

  return new Transform({
    readableObjectMode: true,
    transform(chunk: Buffer, _encoding, done) {
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        add(line, chunk.subarray(from, at + 1))
        const whole = take()
        if (whole !== null) this.push(whole)
        from = at + 1
      }
      if (from < chunk.length) add(line, chunk.subarray(from))
      done()
    },
    /** The input may end without a newline. Half a message is none. */
    flush(done) {
      const bytes = Buffer.concat([...line.pieces, Buffer.from([NEWLINE])])
      if (line.size > 0 && faultOf(bytes) === null) this.push(bytes)
      done()
    },
  })
}

/** A line whose end has not come; of one that is too long only its size and its ends are kept. */
interface Line {
  pieces: Buffer[]
  size: number
  head: Buffer
  tail: Buffer
}

function openLine(): Line {
  return { pieces: [], size: 0, head: Buffer.alloc(0), tail: Buffer.alloc(0) }
}

function add(line: Line, piece: Buffer): void {
  if (line.size === 0) line.head = piece.subarray(0, END_BYTES)
  line.size += piece.length
  if (line.size <= LIMITS.lineBytes) {
    line.pieces.push(piece)
    return
  }
  line.pieces = []
  line.tail = Buffer.concat([line.tail, piece]).subarray(-END_BYTES)
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length <= END_BYTES && /^\s*$/.test(bytes.toString('latin1'))
}

function faultOf(bytes: Buffer): MessageFault | null {
  const read = readMessage(bytes)
  if ('fault' in read) return read.fault
  const { value } = read
  if (Array.isArray(value)) return invalidRequest('Send one message a line')
  const isMessage =
    isObject(value) &&
    value['jsonrpc'] === '2.0' &&
    (typeof value['method'] === 'string' || 'result' in value || 'error' in value)
  return isMessage ? null : invalidRequest('The request is no JSON-RPC message', idOf(value))
}

/** Where clients write it: among the first keys or as one of the last, never inside another object. */
function idAtEnds(head: Buffer, tail: Buffer): MessageFault['id'] {
  const first =
    /^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(\d{1,15}|"[^"\\]*")/.exec(
      head.toString('latin1'),
    )
  const last = /"id"\s*:\s*(\d{1,15}|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
    tail.toString('latin1'),
  )
  const [, text] = first ?? last ?? []
  return text === undefined ? undefined : idOf({ id: JSON.parse(text) })
}
