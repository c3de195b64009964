import type { HttpClient } from '../../primitives/http/http-client.ts'
import { CLIENT_INFO } from '../era.ts'
import { messageHeaders } from '../message-headers.ts'
import type { Stop } from '../../shared/stop.ts'

const TIMEOUT_MS = 15_000
const MOST_BYTES = 64 * 1024

/** What a server says to a caller that it does not know: the header WWW-Authenticate, or '' when it says none. */
export async function readRefusal(address: string, httpClient: HttpClient, signal?: Stop): Promise<string> {
  const message = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: META } }
  const stream = await httpClient.stream(
    {
      method: 'POST',
      url: address.replace(/^ws/i, 'http'),
      headers: {
        ...messageHeaders(message),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
      timeoutMs: TIMEOUT_MS,
      retries: 0,
      retryDelayMs: 0,
      retryableStatuses: [],
      isIdempotent: null,
      maxResponseBytes: MOST_BYTES,
      maxRedirects: 3,
    },
    { idleTimeoutMs: TIMEOUT_MS },
    signal,
  )
  stream.close()
  return stream.result.headers['www-authenticate'] ?? ''
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
}
