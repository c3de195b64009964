import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../shared/limits.ts'
import { findJsonFault } from './strict-json.ts'

/** A request body that was read, or the answer to one that was not. */
export type Body = { readonly value: unknown } | { readonly refusal: Refusal }

export interface Refusal {
  readonly status: number
  /** JSON-RPC error code and message. */
  readonly code: number
  readonly message: string
}

/** Bounds come first: type, size, depth and doubled keys are checked before anything is parsed. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    return refuse(415, -32_600, 'Content-Type must be application/json')
  }
  const bytes = await collect(request)
  if (bytes === null) return refuse(413, -32_600, `The request is larger than ${LIMITS.requestBytes} bytes`)
  const text = bytes.toString('utf8')
  const fault = findJsonFault(text)
  if (fault === 'too_deep')
    return refuse(400, -32_600, `The request is nested deeper than ${LIMITS.nesting} levels`)
  if (fault === 'duplicate_key') return refuse(400, -32_600, 'The request holds a key twice')
  try {
    return { value: JSON.parse(text) }
  } catch {
    return refuse(400, -32_700, 'The request is not JSON')
  }
}

function refuse(status: number, code: number, message: string): Body {
  return { refusal: { status, code, message } }
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
