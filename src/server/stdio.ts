import { pipeline } from 'node:stream'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { strictLines } from './strict-lines.ts'

/** Speaks the protocol on standard input and output, in whichever era the client opens. */
export function openStdio(build: McpServerFactory): { close(): Promise<void> } {
  const { stdin, stdout } = process
  const lines = strictLines(({ id, ...error }) =>
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error })}\n`),
  )
  // However the input ends, the transport sees its lines end and closes.
  pipeline(stdin, lines, () => undefined)
  return serveStdio(build, { transport: new StdioServerTransport(lines, stdout) })
}
