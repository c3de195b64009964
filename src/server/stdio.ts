import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Endpoint } from './build-server.ts'
import { buildServer } from './build-server.ts'
import { lineTransport } from './line-transport.ts'

/** Speaks the protocol on standard input and output, in whichever era the client opens. */
export function openStdio(endpoint: Endpoint): { close(): Promise<void> } {
  const transport = lineTransport(process.stdin, process.stdout, () => false)
  return serveStdio(buildServer(endpoint), { transport })
}
