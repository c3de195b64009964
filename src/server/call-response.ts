import type { ServerResponse } from 'node:http'

/** Where one call is answered: as plain JSON, or as a stream of events once something has to be said before the answer. */
export interface CallResponse {
  readonly say: (message: object) => void
  /** Null: nobody waits for it. */
  readonly answer: (message: object | null) => void
}

export function callResponse(response: ServerResponse, session: string): CallResponse {
  const begin = (type: string): void => {
    response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-cache', 'Mcp-Session-Id': session })
  }
  const say = (message: object): void => {
    if (response.destroyed) return
    if (!response.headersSent) begin('text/event-stream')
    response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }
  return {
    say,
    answer(message) {
      if (message === null) {
        if (!response.headersSent) response.writeHead(202)
        response.end()
      } else if (response.headersSent) {
        say(message)
        response.end()
      } else if (!response.destroyed) {
        begin('application/json')
        response.end(JSON.stringify(message))
      }
    },
  }
}
