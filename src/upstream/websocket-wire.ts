import type { HttpClient } from '../primitives/http/http-client.ts'
import type { WebSocketSession } from '../primitives/http/websocket-session.ts'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { openInbox } from './inbox.ts'
import type { Remote } from './remote.ts'
import { refusalIn, withLogin, worded } from './remote.ts'
import type { Wire, WireEnd } from './wire.ts'

/** One websocket for everything, one message in each of its own. */
export async function openWebSocketWire(remote: Remote, httpClient: HttpClient): Promise<Wire> {
  const session = await open(remote, httpClient)
  const inbox = openInbox()

  const read = async (): Promise<WireEnd> => {
    let wireEnd: WireEnd = { reason: 'it closed the connection', isTooLarge: false }
    try {
      for await (const message of session.messages) {
        if (typeof message === 'string') await inbox.push(message)
      }
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      wireEnd = { reason: 'the connection broke', isTooLarge: error.code === 'MESSAGE_TOO_LARGE' }
    } finally {
      inbox.end()
    }
    return wireEnd
  }
  const ended = read()

  return {
    messages: inbox.messages,
    ended,
    agree() {},
    said: () => '',
    async send(message) {
      try {
        await session.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
      } catch (error) {
        throw worded(remote.id, error)
      }
    },
    async close() {
      await session.close()
      return ended
    },
  }
}

/** It may be quiet for as long as it likes: whoever waits for an answer has a time for it. */
const OPTIONS = {
  protocols: ['mcp'],
  idleTimeoutMs: Number.POSITIVE_INFINITY,
  maxMessageBytes: LIMITS.lineBytes,
}

function open(remote: Remote, httpClient: HttpClient): Promise<WebSocketSession> {
  const { id, startupMs } = remote
  const url = remote.url.replace(/^http/i, 'ws')
  return withLogin(remote, async (sent) => {
    const headers = { ...remote.headers, ...(sent === null ? {} : { authorization: sent }) }
    try {
      return await httpClient.websocket({ url, headers, timeoutMs: startupMs }, OPTIONS)
    } catch (error) {
      const refusal = remote.credential === undefined ? null : refusalIn(error, sent)
      if (refusal === null) throw worded(id, error)
      return refusal
    }
  })
}
