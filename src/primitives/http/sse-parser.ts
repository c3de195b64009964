import { KiwiError } from '../../shared/errors.ts'

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** `message` unless the server names another. */
  readonly event: string
  readonly data: string
  /** The last id the server gave, here or before; where to go on after a break. */
  readonly id: string
}

export interface SseParser {
  /** The events that these bytes complete. */
  push(chunk: Uint8Array): readonly ServerSentEvent[]
  /** The id of the last event that was completed. */
  readonly lastId: string
  /** How long the server asks to wait before reconnecting; null: it did not say. */
  readonly retryMs: number | null
}

/** Reads the event stream format of the HTML standard; one event may hold `maxBytes` characters. */
export function createSseParser(maxBytes: number, startId = ''): SseParser {
  const decoder = new TextDecoder()
  /** The beginning of a line whose end has not come yet; kept in pieces, so that no byte is looked at twice. */
  let partial: string[] = []
  let size = 0
  let isAfterReturn = false
  let type = ''
  let data: string[] = []
  let id = startId
  let lastId = startId
  let retryMs: number | null = null

  const complete = (): ServerSentEvent | null => {
    lastId = id
    const event =
      data.length === 0 ? null : { event: type === '' ? 'message' : type, data: data.join('\n'), id }
    type = ''
    data = []
    size = 0
    return event
  }

  const field = (line: string): void => {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') data.push(value)
    else if (name === 'event') type = value
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
  }

  const grow = (piece: string): void => {
    size += piece.length
    if (size > maxBytes) {
      throw new KiwiError(
        'MESSAGE_TOO_LARGE',
        `Cannot read the event: it is larger than ${maxBytes} characters`,
      )
    }
    partial.push(piece)
  }

  return {
    get lastId() {
      return lastId
    },
    get retryMs() {
      return retryMs
    },
    push(chunk) {
      const text = decoder.decode(chunk, { stream: true })
      const events: ServerSentEvent[] = []
      let from = isAfterReturn && text.startsWith('\n') ? 1 : 0
      if (text !== '') isAfterReturn = text.endsWith('\r')
      for (const end of text.matchAll(/\r\n|\n|\r/g)) {
        if (end.index < from) continue
        grow(text.slice(from, end.index))
        from = end.index + end[0].length
        const line = partial.join('')
        partial = []
        if (line !== '') {
          // A comment ends here: a server may keep a quiet stream alive with any number of them.
          if (line.startsWith(':')) size -= line.length
          else field(line)
          continue
        }
        const event = complete()
        if (event !== null) events.push(event)
      }
      if (from < text.length) grow(text.slice(from))
      return events
    },
  }
}
