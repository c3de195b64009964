import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { KiwiError } from '../../shared/errors.ts'
import { errorOf } from './result.ts'

/** The frames of RFC 6455, as a client reads and writes them; no extension is offered, so none is understood. */
export interface FrameEvents {
  message(data: string | Buffer): void
  ping(payload: Buffer): void
  close(code: number, reason: string): void
}

interface Frame {
  readonly opcode: number
  readonly isFinal: boolean
  /** Bytes of the payload that have not come yet. */
  left: number
  readonly parts: Buffer[]
}

interface Head extends Pick<Frame, 'opcode' | 'isFinal'> {
  readonly headBytes: number
  readonly payloadBytes: number
}

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODES))
/** A message in crumbs costs far more memory than its bytes. */
const MAX_FRAGMENTS = 10_000
const NO_STATUS = 1005
const EMPTY = Buffer.alloc(0)

/** Takes the bytes in whatever pieces they come; throws when the server breaks the rules. */
export function createFrameReader(maxBytes: number, events: FrameEvents): (chunk: Buffer) => void {
  let pending: Buffer = EMPTY
  let frame: Frame | null = null
  let message: { readonly isText: boolean; readonly parts: Buffer[]; size: number } | null = null

  const admit = (head: Head): void => {
    const isControl = head.opcode >= OPCODES.close
    if (isControl && (!head.isFinal || head.payloadBytes > 125)) throw fault(1002, 'a long control frame')
    if (isControl) return
    const isContinuation = head.opcode === OPCODES.continuation
    if (isContinuation === (message === null)) throw fault(1002, 'a fragment out of order')
    if ((message?.size ?? 0) + head.payloadBytes > maxBytes || (message?.parts.length ?? 0) > MAX_FRAGMENTS) {
      throw fault(1009, `a message larger than ${maxBytes} bytes`)
    }
  }

  const finish = ({ opcode, isFinal, parts }: Frame): void => {
    const payload = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
    if (opcode === OPCODES.ping) return events.ping(payload)
    if (opcode === OPCODES.pong) return
    if (opcode === OPCODES.close) return events.close(...readClose(payload))
    message ??= { isText: opcode === OPCODES.text, parts: [], size: 0 }
    message.parts.push(payload)
    message.size += payload.length
    if (!isFinal) return
    const whole = message.parts.length === 1 ? payload : Buffer.concat(message.parts)
    const { isText } = message
    message = null
    events.message(isText ? textOf(whole) : whole)
  }

  return (chunk) => {
    let rest = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    pending = EMPTY
    while (rest.length > 0) {
      if (frame === null) {
        const head = readHead(rest)
        if (head === null) {
          pending = rest
          return
        }
        admit(head)
        frame = { opcode: head.opcode, isFinal: head.isFinal, left: head.payloadBytes, parts: [] }
        rest = rest.subarray(head.headBytes)
      }
      const piece = rest.subarray(0, frame.left)
      frame.parts.push(piece)
      frame.left -= piece.length
      rest = rest.subarray(piece.length)
      if (frame.left > 0) return
      const whole = frame
      frame = null
      finish(whole)
    }
  }
}

/** What the server did wrong; `close_code` is what the connection is closed with. */
function fault(closeCode: number, what: string): KiwiError {
  const failure = closeCode === 1009 ? 'too_large' : 'protocol'
  return errorOf(
    { failure, error: `Cannot read from the websocket: ${what} came` },
    { close_code: closeCode },
  )
}

/** null: not all of it is there. */
function readHead(bytes: Buffer): Head | null {
  if (bytes.length < 2) return null
  const [first = 0, second = 0] = bytes
  const opcode = first & 0x0f
  if ((first & 0x70) !== 0 || !KNOWN.has(opcode)) throw fault(1002, 'an unknown kind of frame')
  if ((second & 0x80) !== 0) throw fault(1002, 'a masked frame')
  const short = second & 0x7f
  const headBytes = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < headBytes) return null
  const payloadBytes =
    short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  return { opcode, isFinal: (first & 0x80) !== 0, headBytes, payloadBytes }
}

function readClose(payload: Buffer): [code: number, reason: string] {
  if (payload.length === 0) return [NO_STATUS, '']
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0)
  const isDefined = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014)
  if (!isDefined && (code < 3000 || code > 4999)) throw fault(1002, 'an invalid close code')
  return [code, textOf(payload.subarray(2))]
}

function textOf(payload: Buffer): string {
  if (!isUtf8(payload)) throw fault(1007, 'a text that is no UTF-8')
  return payload.toString('utf8')
}

/** One whole frame, masked as a client must. */
export function encodeFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload
  const headBytes = length > 65_535 ? 10 : length > 125 ? 4 : 2
  const frame = Buffer.allocUnsafe(headBytes + 4 + length)
  frame[0] = 0x80 | opcode
  frame[1] = 0x80 | (headBytes === 10 ? 127 : headBytes === 4 ? 126 : length)
  if (headBytes === 4) frame.writeUInt16BE(length, 2)
  if (headBytes === 10) frame.writeBigUInt64BE(BigInt(length), 2)
  const mask = randomBytes(4)
  frame.set(mask, headBytes)
  for (let i = 0; i < length; i++) frame[headBytes + 4 + i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0)
  return frame
}

export function encodeClose(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123)
  const payload = Buffer.allocUnsafe(2 + text.length)
  payload.writeUInt16BE(code, 0)
  payload.set(text, 2)
  return encodeFrame(OPCODES.close, payload)
}
