import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { gathered } from '../shared/gathered.ts'
import { openLinger } from '../shared/linger.ts'
import { jsonLine } from '../shared/json-line.ts'
import type { MessageFault } from './read-message.ts'
import { idOf, invalidRequest } from './read-message.ts'
import { strictLines } from './strict-lines.ts'

/** Takes a message before the SDK sees it; false leaves it to the SDK, a promise does so when it has ended. */
export type Shortcut = (message: unknown, answer: (message: object | null) => void) => boolean | Promise<void>

/** One message a line. What is none is answered with what is wrong with it. */
export function lineTransport(input: Readable, output: Writable, shortcut: Shortcut): Transport {
  let isClosed = false
  const writeText = gathered(output)
  const linger = openLinger()
  const write = (message: object): boolean => {
    const isTaken = writeText(`${jsonLine(message)}\n`)
    linger.begin()
    return isTaken
  }
  const refuse = ({ id, ...error }: MessageFault): void => {
    write({ jsonrpc: '2.0', id: id ?? null, error })
  }
  let held: Promise<void> | null = null
  const hand = (message: JSONRPCMessage): void => {
    if (!isClosed) transport.onmessage?.(message)
  }
  /** What comes after one that is held back is held back as well, so that they stay in order. */
  const handAfter = async (message: JSONRPCMessage, before: readonly unknown[]): Promise<void> => {
    await Promise.allSettled(before)
    hand(message)
  }
  const take = (value: unknown): MessageFault | null => {
    linger.end()
    const taken = shortcut(value, (answer) => answer !== null && write(answer))
    if (taken === true) return null
    const message = messageOf(value)
    if (message === null) return invalidRequest('The request is no JSON-RPC message', idOf(value))
    if (taken === false && held === null) {
      hand(message)
      return null
    }
    const mine = handAfter(message, [held, taken]).finally(() => {
      if (held === mine) held = null
    })
    held = mine
    return null
  }
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    input.off('data', read).pause()
    transport.onclose?.()
  }
  const read = strictLines(take, refuse)
  const transport: Transport = {
    start() {
      input
        .on('data', read)
        .once('end', close)
        .once('error', (error) => {
          transport.onerror?.(error)
          close()
        })
      // Whoever does not read any more is gone; what is written later fails the same way.
      output.on('error', (error) => {
        if (!isClosed) transport.onerror?.(error)
        close()
      })
      return Promise.resolve()
    },
    send(message) {
      if (isClosed || write(message)) return Promise.resolve()
      return new Promise((resolve) => output.once('drain', resolve))
    },
    close() {
      close()
      return Promise.resolve()
    },
  }
  return transport
}

/** By the rules of whoever reads it next: what it drops, nobody would answer. */
function messageOf(value: unknown): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(value)
  } catch {
    return null
  }
}
