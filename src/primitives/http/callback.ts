import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'

/** An address on this machine that hears one request, such as the answer to a login in a browser. */
export interface Callback {
  readonly url: string
  /** What the first request to exactly that address brought; null when none came in time. */
  readonly arrived: Promise<URLSearchParams | null>
  /** Nothing is heard any more. */
  close(): void
}

const HOST = '127.0.0.1'
const PATH = '/callback'
/** Nothing a page could bring is longer. */
const MOST_BYTES = 16 * 1024

/** Listens on a port nobody can know before, until the one request came or the time is over. */
export async function openCallback(timeoutMs: number): Promise<Callback> {
  const ends: ((params: URLSearchParams | null) => void)[] = []
  const arrived = new Promise<URLSearchParams | null>((resolve) => ends.push(resolve))
  const server = createServer({ maxHeaderSize: MOST_BYTES }, (request, response) => {
    const target = request.url ?? '/'
    if (!URL.canParse(target, origin)) return answer(response, 400, 'This is no address.')
    const url = new URL(target, origin)
    if (!isMeant(request, url)) return answer(response, 404, 'Nothing is here.')
    answer(response, 200, 'This window can be closed: Kiwi has its answer.')
    end(url.searchParams)
  })
  const end = (params: URLSearchParams | null): void => {
    clearTimeout(timer)
    server.close()
    server.closeIdleConnections()
    for (const settle of ends.splice(0)) settle(params)
  }
  const address = (): string => {
    const bound = server.address()
    return `http://${HOST}:${typeof bound === 'object' ? (bound?.port ?? 0) : 0}`
  }
  /** A page elsewhere may know the port; it cannot make a browser send this host. */
  const isMeant = ({ method, headers }: IncomingMessage, url: URL): boolean =>
    method === 'GET' && url.origin === origin && url.pathname === PATH && `http://${headers.host}` === origin
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, HOST, resolve)
  })
  const origin = address()
  const timer = setTimeout(() => end(null), timeoutMs)
  return { url: `${origin}${PATH}`, arrived, close: () => end(null) }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    })
    .end(text)
}
