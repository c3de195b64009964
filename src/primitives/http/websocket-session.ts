import type { Duplex } from 'node:stream'
import { KiwiError } from '../../shared/errors.ts'
import { createFlowQueue } from './flow-queue.ts'
import type { Deadline } from './deadline.ts'
import { errorOf, worded } from './result.ts'
import { createFrameReader, encodeClose, encodeFrame, OPCODES } from './websocket-frames.ts'

/** An open websocket. */
export interface WebSocketSession {
  /** The subprotocol the server chose, or ''. */
  readonly protocol: string
  /** Text as strings, the rest as bytes, pulled by the reader. Ends when either side closes; a break is thrown. */
  readonly messages: AsyncIterable<string | Uint8Array>
  /** Resolves when the connection can take more. */
  send(message: string | Uint8Array): Promise<void>
  /** Says goodbye, waits a moment for the answer and disconnects. */
  close(code?: number, reason?: string): Promise<void>
}

interface SessionBounds {
  readonly host: string
  readonly protocol: string
  readonly idleTimeoutMs: number
  readonly maxMessageBytes: number
  readonly deadline: Deadline
}

/** Bytes of messages that may wait for their reader. */
const HIGH_WATER = 256 * 1024
const GOODBYE_MS = 2000
const NORMAL = 1000
const NO_STATUS = 1005

export function openWebSocketSession(socket: Duplex, bounds: SessionBounds): WebSocketSession {
  const { host, protocol, idleTimeoutMs, maxMessageBytes, deadline } = bounds
  let isClosing = false
  const write = createWrite(socket)

  /** Sends the close frame, once, and lets go of the socket when the server does or after a moment. */
  const sayGoodbye = (code: number, reason = ''): void => {
    if (isClosing || socket.destroyed) return
    isClosing = true
    socket.end(code === NO_STATUS ? encodeFrame(OPCODES.close, EMPTY) : encodeClose(code, reason))
    socket.resume()
    const timer = setTimeout(() => socket.destroy(), GOODBYE_MS)
    socket.once('close', () => clearTimeout(timer))
  }
  const close = async (code = NORMAL, reason = ''): Promise<void> => {
    sayGoodbye(code, reason)
    queue.end()
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  }
  const queue = createFlowQueue<string | Buffer>({
    highWater: HIGH_WATER,
    idleMs: idleTimeoutMs,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    idle: () => {
      queue.end(errorOf(worded(host, { failure: 'timeout', error: `no message within ${idleTimeoutMs} ms` })))
      sayGoodbye(NORMAL)
    },
    close: () => void close(),
  })
  const read = createFrameReader(maxMessageBytes, {
    message: (data) => queue.push(data, data.length),
    ping: (payload) => {
      // One that waits for room is dropped: the server hears of the latest.
      if (!isClosing && !socket.writableNeedDrain) socket.write(encodeFrame(OPCODES.pong, payload))
    },
    close: (code, reason) => {
      queue.end()
      if (isClosing) socket.destroy()
      else sayGoodbye(code, reason)
    },
  })
  deadline.lift()
  deadline.listener = {
    stop(problem) {
      queue.end(errorOf(worded(host, problem)))
      socket.destroy()
    },
  }
  socket
    .on('data', (chunk: Buffer) => {
      queue.touch()
      try {
        read(chunk)
      } catch (error) {
        if (!(error instanceof KiwiError)) throw error
        queue.end(error)
        sayGoodbye(Number(error.details['close_code']))
      }
    })
    .on('error', () => socket.destroy())
    .on('end', () => socket.destroy())
    .once('close', () => {
      queue.end(broken(host))
      deadline.release()
    })

  return {
    protocol,
    messages: queue.items,
    close,
    async send(message) {
      if (isClosing || socket.destroyed) throw broken(host)
      const isText = typeof message === 'string'
      const payload = isText ? Buffer.from(message) : message
      await write(encodeFrame(isText ? OPCODES.text : OPCODES.binary, payload))
      if (socket.destroyed) throw broken(host)
    },
  }
}

function broken(host: string): KiwiError {
  return errorOf({ failure: 'connection', error: `Cannot reach "${host}": the connection broke` })
}

/** Writes; the promise ends when there is room for more, or never will be. */
function createWrite(socket: Duplex): (bytes: Buffer) => Promise<void> {
  let draining: Promise<void> | null = null
  return async (bytes) => {
    if (socket.write(bytes)) return
    draining ??= new Promise((resolve) => {
      const settle = (): void => {
        draining = null
        socket.off('drain', settle).off('close', settle)
        resolve()
      }
      socket.on('drain', settle).on('close', settle)
    })
    await draining
  }
}

const EMPTY = Buffer.alloc(0)
