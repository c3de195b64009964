import { setTimeout as delay } from 'node:timers/promises'
import type { HttpStream } from '../primitives/http/events.ts'
import type { ServerSentEvent } from '../primitives/http/sse-parser.ts'
import { createSseParser } from '../primitives/http/sse-parser.ts'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { readMessage } from './read-message.ts'

/** What reading an answer needs. */
export interface Reading {
  /** How people know the upstream. */
  readonly id: string
  /** The number of the request that is answered; null for a message that has no answer. */
  readonly number: number | null
  readonly signal: AbortSignal
  /** Takes a message; kept when there is room for more. */
  readonly push: (message: string) => Promise<void>
  /** Goes on after the event of this id, on another connection; null where streams are never resumed. */
  readonly resume: ((lastId: string, waitMs: number) => AsyncIterable<ServerSentEvent>) | null
}

const RESUME_MS = 1000
/** What may still come after an answer; then the connection is let go of. */
const TAIL_MS = 1000

/** Passes on all messages of an answer, which is one JSON text or a stream of events. Fails when the answer itself does not come. */
export async function readAnswer(stream: HttpStream, reading: Reading): Promise<void> {
  const { number, push } = reading
  if (number === null) return finish(stream)
  const type = stream.result.headers['content-type'] ?? ''
  if (/^text\/event-stream\s*(?:;|$)/i.test(type)) return readStream(stream, reading)
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    stream.close()
    throw unknown(reading, `it answered with ${type === '' ? 'nothing' : JSON.stringify(type.slice(0, 100))}`)
  }
  const messages = textsIn(await readWhole(stream, reading))
  if (!messages.some((text) => isAnswer(text, number))) throw unknown(reading, 'its answer is another one')
  for (const message of messages) await push(message)
}

async function readStream(stream: HttpStream, reading: Reading): Promise<void> {
  const parser = createSseParser(LIMITS.lineBytes)
  let broken: unknown = null
  try {
    for await (const chunk of stream.chunks) {
      for (const event of parser.push(chunk)) {
        if (!(await take(event, reading))) continue
        // The rest is waited for apart: a connection that is read to its end serves the next request.
        void finish(stream).catch(() => {})
        return
      }
    }
  } catch (error) {
    if (isTooLarge(error)) throw tooLarge(reading, error)
    broken = error
  }
  reading.signal.throwIfAborted()
  if (parser.lastId === '' || reading.resume === null) {
    throw unknown(reading, 'the connection broke before the answer', broken)
  }
  await resume(parser.lastId, parser.retryMs ?? RESUME_MS, reading)
}

async function resume(lastId: string, waitMs: number, reading: Reading): Promise<void> {
  const { signal } = reading
  await delay(Math.min(waitMs, LONGEST_WAIT_MS), undefined, { signal })
  try {
    for await (const event of reading.resume?.(lastId, waitMs) ?? []) {
      if (await take(event, reading)) return
    }
  } catch (error) {
    throw unknown(reading, 'the connection broke before the answer and cannot be taken up again', error)
  }
  signal.throwIfAborted()
  throw unknown(reading, 'the stream ended before the answer')
}

const LONGEST_WAIT_MS = 60_000

/** Says whether this was the answer. */
async function take({ event, data }: ServerSentEvent, { number, push }: Reading): Promise<boolean> {
  if (event !== 'message' || data === '') return false
  await push(data)
  return isAnswer(data, number)
}

/** Parsing comes last: most of what a stream brings before an answer can be told by its look. */
function isAnswer(text: string, number: number | null): boolean {
  if (!text.includes('"result"') && !text.includes('"error"')) return false
  const message = readMessage(text)
  return (message?.kind === 'result' || message?.kind === 'error') && message.id === number
}

/** One message, or several in a list, as older revisions allow. */
function textsIn(body: string): readonly string[] {
  if (!body.trimStart().startsWith('[')) return [body]
  try {
    const list: unknown = JSON.parse(body)
    return Array.isArray(list) ? list.map((message) => JSON.stringify(message)) : [body]
  } catch {
    return [body]
  }
}

async function readWhole(stream: HttpStream, reading: Reading): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of stream.chunks) {
      size += chunk.length
      if (size > LIMITS.lineBytes) {
        stream.close()
        throw tooLarge(reading)
      }
      parts.push(chunk)
    }
  } catch (error) {
    reading.signal.throwIfAborted()
    if (isTooLarge(error)) throw error
    throw unknown(reading, 'the connection broke within the answer', error)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Reads to the end what nobody waits for, for a moment. */
async function finish(stream: HttpStream): Promise<void> {
  const timer = setTimeout(() => stream.close(), TAIL_MS)
  try {
    for await (const _ of stream.chunks);
  } catch {
    // It was let go of, or broke: what matters had come.
  } finally {
    clearTimeout(timer)
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof KiwiError && error.code === 'MESSAGE_TOO_LARGE'
}

function tooLarge({ id }: Reading, cause?: unknown): KiwiError {
  return new KiwiError('MESSAGE_TOO_LARGE', `Cannot use "${id}": it sent more at once than is taken`, {
    cause,
  })
}

function unknown({ id }: Reading, why: string, cause?: unknown): KiwiError {
  return new KiwiError('OUTCOME_UNKNOWN', `Cannot use "${id}": ${why}`, { cause })
}
