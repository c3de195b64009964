import { Transform } from 'node:stream'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { idOf, invalidRequest, readMessage, tooLarge } from './read-message.ts'

const NEWLINE = 0x0a
const BLANKS = Buffer.from(' \t\r\n')
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
  })
}

/** A line whose end has not come; of one that is too long only its ends are kept. */
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
  line.size += piece.length
  if (line.head.length < END_BYTES) line.head = Buffer.concat([line.head, piece]).subarray(0, END_BYTES)
  line.tail = Buffer.concat([line.tail, piece.subarray(-END_BYTES)]).subarray(-END_BYTES)
  if (line.size <= LIMITS.lineBytes) line.pieces.push(piece)
  else line.pieces = []
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => BLANKS.includes(byte))
}

function faultOf(bytes: Buffer): MessageFault | null {
  const read = readMessage(bytes)
  if ('fault' in read) return read.fault
  const { value } = read
  if (Array.isArray(value)) return invalidRequest('Send one message a line')
  return isMessage(value) ? null : invalidRequest('The request is no JSON-RPC message', idOf(value))
}

/** By the rules of whoever reads it next: what it drops, nobody would answer. */
function isMessage(value: unknown): boolean {
  try {
    parseJSONRPCMessage(value)
    return true
  } catch {
    return false
  }
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
  const read = readMessage(Buffer.from(`{"id":${text ?? null}}`))
  return 'value' in read ? idOf(read.value) : undefined
}
