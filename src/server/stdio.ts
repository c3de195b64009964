import { pipeline } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Endpoint } from './build-server.ts'
import { buildServer } from './build-server.ts'
import { strictLines } from './strict-lines.ts'

/** Speaks the protocol on standard input and output, in whichever era the client opens. */
export function openStdio(endpoint: Endpoint): { close(): Promise<void> } {
  const { stdin, stdout } = process
  const lines = strictLines(({ id, ...error }) =>
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error })}\n`),
  )
  // However the input ends, the transport sees its lines end and closes.
  pipeline(stdin, lines, () => undefined)
  return serveStdio(buildServer(endpoint), { transport: new StdioServerTransport(lines, stdout) })
}
