import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { readMessage, tooLarge } from './read-message.ts'

/** A request body that was read, or the answer to one that was not. */
export type Body = { readonly value: unknown } | { readonly refusal: Refusal }

export interface Refusal extends MessageFault {
  readonly status: number
}

/** Type and size are checked before anything is read. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    return { refusal: { status: 415, code: -32_600, message: 'Content-Type must be application/json' } }
  }
  const bytes = await collect(request)
  if (bytes === null) return { refusal: { status: 413, ...tooLarge(LIMITS.requestBytes) } }
  const message = readMessage(bytes)
  return 'fault' in message ? { refusal: { status: 400, ...message.fault } } : message
}

/** What is too large is read to its end without being kept, up to a bound, so that the client hears the answer. */
async function collect(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk))
    size += bytes.length
    if (size <= LIMITS.requestBytes) chunks.push(bytes)
    else if (size > LIMITS.requestBytes * 4) return null
  }
  return size > LIMITS.requestBytes ? null : Buffer.concat(chunks)
}
